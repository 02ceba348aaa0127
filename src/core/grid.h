/* grid - grids of one to three axes (ssm2d_grid): a line of tokens, a map of cells, a volume. axes
 * is 0 where there is no grid. */
#ifndef SSM2D_CORE_GRID_H
#define SSM2D_CORE_GRID_H

#include "ssm2d.h"

#include <stdio.h>

enum { GRID_TEXT = 64 };

/* The cells of a grid among the tokens of an image: after `first` others, in C order. */
typedef struct token_grid {
    int first;
    ssm2d_grid shape;
} token_grid;

/* Of grids that are known to have two axes. */
static inline int grid_rows(ssm2d_grid g) { return (int)g.extent[0]; }
static inline int grid_cols(ssm2d_grid g) { return (int)g.extent[1]; }

/* The number of cells; 0 without a grid. The product must fit a size_t. */
static inline size_t grid_cells(ssm2d_grid g)
{
    size_t cells = g.axes > 0;
    for (int i = 0; i < g.axes; i++) cells *= g.extent[i];
    return cells;
}

static inline int grid_equal(ssm2d_grid a, ssm2d_grid b)
{
    int same = a.axes == b.axes;
    for (int i = 0; same && i < a.axes; i++) same = a.extent[i] == b.extent[i];
    return same;
}

/* "8x8"; "none" without a grid. */
static inline const char *grid_text(ssm2d_grid g, char text[GRID_TEXT])
{
    size_t used = 0;
    snprintf(text, GRID_TEXT, "none");
    for (int i = 0; i < g.axes && used < GRID_TEXT; i++)
        used += (size_t)snprintf(text + used, GRID_TEXT - used, i ? "x%zu" : "%zu", g.extent[i]);
    return text;
}

#endif
