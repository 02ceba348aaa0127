/* canvas - a page to draw on with cairo: PNG or SVG by the file's extension, written whole or not
 * at all. */
#ifndef SSM2D_DRAW_CANVAS_H
#define SSM2D_DRAW_CANVAS_H

#include "io/file.h"

#include <cairo.h>

typedef struct canvas canvas;

/* Whether the extension of path is one that canvas_open knows. */
ssm2d_status canvas_check(const char *path, ssm2d_error *error);
/* width and height in points; a PNG has two pixels per point. */
ssm2d_status canvas_open(const ssm2d_context *context, const char *path, double width,
                         double height, canvas **out, ssm2d_error *error);
cairo_t *canvas_cairo(canvas *c);
/* the file appears; frees the canvas whatever happens */
ssm2d_status canvas_finish(canvas *c, ssm2d_error *error);
void canvas_abandon(canvas *c);

typedef enum text_align { TEXT_LEFT, TEXT_CENTRE, TEXT_RIGHT } text_align;

typedef struct text_style {
    double size;
    int bold;
    double grey; /* 0 black */
} text_style;

/* Text with its baseline at y. */
void canvas_text(canvas *c, double x, double y, text_align align, text_style style,
                 const char *text);
/* The same, read from below to above, around (x, y). */
void canvas_text_upward(canvas *c, double x, double y, text_style style, const char *text);
/* How wide it would be. */
double canvas_text_width(text_style style, const char *text);

#endif
