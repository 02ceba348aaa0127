/* heatmap - a figure of heat maps in a grid, with ticks, labels and colour bars, and optionally a
 * larger one beside it. */
#ifndef SSM2D_DRAW_HEATMAP_H
#define SSM2D_DRAW_HEATMAP_H

#include "draw/colour.h"
#include "ssm2d.h"

/* Cells that a frame is drawn around; rows 0: none. */
typedef struct heat_mark {
    int row, col, rows, cols;
} heat_mark;

/* A line over the cells: its corners in cells, where (0, 0) is the centre of values[0]. */
typedef struct heat_line {
    const double *rows, *cols; /* [count], borrowed */
    int count;
    colour colour;
} heat_line;

typedef struct heat_panel {
    const double *values; /* [rows][cols], borrowed */
    int rows, cols;
    int row_first, col_first; /* coordinates of values[0], for the ticks */
    int from_below;           /* draw values[0] at the bottom left instead of the top left */
    colour_map map;           /* sequential: from 0 to the largest value; diverging: around 0 */
    int logarithmic;          /* sequential only: from the smallest value, within four decades */
    heat_mark mark;
    int shows_values; /* writes the values into the cells, if all of them fit */
    const heat_line *lines;
    int line_count;
    const char *row_label, *col_label;
} heat_panel;

typedef struct heat_figure {
    const char *title; /* may be NULL */
    const char *note;  /* text below the figure, wrapped; may be NULL */
    int grid_rows, grid_cols;
    const heat_panel *panels; /* [grid_rows][grid_cols]; all of one size */
    const char *const *row_titles, *const *col_titles;
    int shared_scale;        /* one colour bar for the grid instead of one for each panel */
    const heat_panel *aside; /* a larger panel beside the grid, or NULL */
    const char *aside_title;
} heat_figure;

/* Draws to a .png, .svg or .pdf, which appears complete or not at all. */
ssm2d_status heatmap_draw(const ssm2d_context *context, const char *path, const heat_figure *figure,
                          ssm2d_error *error);

#endif
