/* assets - the text of page.css, page.js and page_curves.js, embedded by cmake/embed.cmake. */
#ifndef SSM2D_REPORT_ASSETS_H
#define SSM2D_REPORT_ASSETS_H

extern const char asset_css[], asset_js[], asset_curves_js[];

#endif
