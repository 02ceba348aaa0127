/* curves - a figure of line charts that share the meaning of their x axis, with ticks,
 * labels and legends. */
#ifndef SSM2D_DRAW_CURVES_H
#define SSM2D_DRAW_CURVES_H

#include "draw/colour.h"
#include "ssm2d.h"

typedef struct curve {
    const char *name;
    /* [count], borrowed; points whose x or y is NaN are left out */
    const double *x, *y;
    int count;
    colour colour;
    int dots; /* mark the points, for curves that have few; 2: those after the first are rings */
    int dash; /* 0: solid, 1 .. 3: dashes, for lines that share a colour */
    /* [count], borrowed: standard deviations, drawn as bars about the points, or as a band about
     * the line; NULL, or NaN for a point: none */
    const double *spread;
    int band;
} curve;

typedef struct curve_panel {
    const char *y_label;
    const curve *curves;
    int count;
    int is_log;           /* the y axis; values that are not positive are left out */
    int is_percent;       /* the y axis stays within 0 and 100 */
    int legend_below;     /* legend at the bottom right, for rising curves, not at the top right */
    int is_scatter;       /* no legend: the name of a curve is beside its first point */
    const char *x_label;  /* NULL: the figure's */
    double x_low, x_high; /* both 0: the figure's */
} curve_panel;

typedef struct curve_figure {
    const char *title; /* may be NULL */
    const char *note;  /* text below the figure, wrapped; may be NULL */
    const char *x_label;
    const curve_panel *panels;
    int count;
    double x_low, x_high; /* of every panel */
    int x_is_log2;        /* x is a logarithm to base 2: ticks say 1, 2, 4 .. for 0, 1, 2 .. */
    int columns;          /* panels side by side; 0: all of them */
    /* The lines of all panels have the same names: one legend above the panels instead of one in
     * each. */
    int shared_legend;
} curve_figure;

/* Draws to a .png, .svg or .pdf, which appears complete or not at all. */
ssm2d_status curves_draw(const ssm2d_context *context, const char *path, const curve_figure *figure,
                         ssm2d_error *error);

#endif
