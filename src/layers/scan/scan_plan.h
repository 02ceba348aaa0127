/* scan_plan - what layers with selective scans have in common: coefficients of the recurrence
 * depend on the input, so there is no kernel, and the layer is computed cell by cell.
 *
 * 1. scan_projection.c computes a map of `columns` values per cell from its channels, one product
 *    for all that the coefficients depend on.
 * 2. A task scans one image after the other for a group of vectors of channels, in every direction.
 *    scan_rows.c runs the rows; backward keeps the states of a block of rows only, and of the
 *    others what enters every block.
 * 3. Gradients of maps are sums over channels: each group has its own, added in their order.
 *
 * H channels; V vectors of `lanes`; G groups. The number of groups and of chunks of the batch, on
 * which the order of sums depends, is a function of the shapes alone. */
#ifndef SSM2D_LAYERS_SCAN_PLAN_H
#define SSM2D_LAYERS_SCAN_PLAN_H

#include "core/arith.h"
#include "layers/layer_kind.h"

/* A direction: cell (i, j) of the scan is cell first + i*row + j*col of the image. */
typedef struct scan_walk {
    ptrdiff_t first, row, col;
    int rows, cols;
} scan_walk;

static inline scan_walk scan_walk_of(int rows, int cols, int transpose, int flip_rows,
                                     int flip_cols)
{
    scan_walk w = {0, cols, 1, rows, cols};
    if (transpose) w = (scan_walk){0, 1, cols, cols, rows};
    if (flip_rows) w.first += (w.rows - 1) * w.row, w.row = -w.row;
    if (flip_cols) w.first += (w.cols - 1) * w.col, w.col = -w.col;
    return w;
}

/* Groups of vectors and chunks of the batch, as tile_groups (layers/tile_groups.h). */
typedef struct scan_groups {
    int group, groups, chunks;
} scan_groups;

enum { SCAN_SEGMENTS = 12 };

/* Rows of weights [rows][H] among the parameters. With several maps the rows of map m are `rows`
 * rows after those of map m-1. */
typedef struct scan_segment {
    size_t offset;
    int rows;
} scan_segment;

typedef struct scan_projection {
    int maps, columns, segments;
    scan_segment segment[SCAN_SEGMENTS]; /* `columns` rows in all */
    int width; /* columns, padded to whole vectors; kinds may ask for more */
    /* Regions: weights [maps][H][width] and [maps][columns][V][lanes] */
    size_t in, out;
    size_t map;  /* [batch][maps][cells][width] */
    size_t dmap; /* [G] of these */
    size_t sums; /* [chunks][maps][columns][V][lanes] */
} scan_projection;

/* The first member of the plan of each of these kinds. */
typedef struct scan_layer_plan {
    ssm2d_plan base;
    scan_groups groups;
    scan_projection projection;
    size_t cells, tile;     /* cells of an image; elements of a tile of one vector */
    size_t scratch, worker; /* region; elements of one worker */
} scan_layer_plan;

#endif
