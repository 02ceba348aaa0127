/* assets - page.css, page.js and page_curves.js as text, which the build makes of the files
 * (cmake/embed.cmake). */
#ifndef SSM2D_REPORT_ASSETS_H
#define SSM2D_REPORT_ASSETS_H

extern const char asset_css[], asset_js[], asset_curves_js[];

#endif
