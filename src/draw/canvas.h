/* canvas - a page to draw on with cairo: PNG, SVG or PDF by the file's extension, written whole
 * or not at all. */
#ifndef SSM2D_DRAW_CANVAS_H
#define SSM2D_DRAW_CANVAS_H

#include "io/file.h"

#include <cairo.h>

typedef struct canvas canvas;

/* Refuses a path whose extension is not .png, .svg or .pdf. */
ssm2d_status canvas_check(const char *path, ssm2d_error *error);
/* Starts a white page, which the caller ends with canvas_finish. width and height are in points; a
 * PNG has two pixels per point. */
ssm2d_status canvas_open(const ssm2d_context *context, const char *path, double width,
                         double height, canvas **out, ssm2d_error *error);
cairo_t *canvas_cairo(canvas *c); /* belongs to the canvas */
/* Writes the file. Frees the canvas, on failure too. */
ssm2d_status canvas_finish(canvas *c, ssm2d_error *error);

/* Draw a thin line from (x, y), and a thin frame; grey as in text_style. */
void canvas_line(canvas *c, double x, double y, double dx, double dy, double grey);
void canvas_frame(canvas *c, double x, double y, double width, double height, double grey);

typedef enum text_align { TEXT_LEFT, TEXT_CENTRE, TEXT_RIGHT } text_align;

typedef struct text_style {
    double size;
    int bold;
    double grey; /* from 0, black, to 1, white */
} text_style;

/* Draws text with its baseline at y. */
void canvas_text(canvas *c, double x, double y, text_align align, text_style style,
                 const char *text);
/* Draws text that reads upwards, centred at (x, y). */
void canvas_text_upward(canvas *c, double x, double y, text_style style, const char *text);
/* Returns the width of the text in points. */
double canvas_text_width(text_style style, const char *text);
/* The text, cut to the width and ended by two dots if it is longer; bytes that are not UTF-8 become
 * '?'. */
const char *canvas_fit(text_style style, double width, const char *text, char *out, size_t size);
/* Wraps lines wider than `width` points: spaces become newlines. */
void canvas_wrap(text_style style, double width, char *text);

/* A note: lines of small text below a figure. */
typedef struct canvas_note {
    char text[1024]; /* broken into lines */
    int lines;
    double width, height; /* in points */
} canvas_note;

/* Wraps text, which may be NULL, to lines of `width` points. */
canvas_note note_lay_out(const char *text, double width);
/* Draws the lines from x, the last of them with its baseline at `bottom`. */
void note_draw(canvas *c, const canvas_note *n, double x, double bottom);

#endif
