/* plan_options - what every plan over a grid of cells is asked for (ssm2d_plan_options): read,
 * checked, and completed; and the grid as rows and columns. */
#ifndef SSM2D_CORE_PLAN_OPTIONS_H
#define SSM2D_CORE_PLAN_OPTIONS_H

#include "core/context.h"

/* Copies the caller's options to *full; the program may have been compiled with an older header. */
ssm2d_status plan_options_read(ssm2d_plan_options *full, const ssm2d_plan_options *options,
                               ssm2d_error *error);
/* Refuses options that no algorithm supports; o->in and o->out get dense strides where they are
 * 0. */
ssm2d_status plan_options_check(const ssm2d_context *context, int channels, ssm2d_plan_options *o,
                                ssm2d_error *error);
/* How many elements an array with these strides spreads over. */
size_t plan_options_extent(const ssm2d_plan_options *o, int channels, ssm2d_strides s);
/* The number of those elements before the first cell, due to negative strides. */
size_t plan_options_origin(const ssm2d_plan_options *o, int channels, ssm2d_strides s);

/* Strides of a grid of rows and columns. */
typedef struct plane_strides {
    ptrdiff_t batch, row, col, channel;
} plane_strides;

/* The grid as rows and columns, its cells in raster order: one axis is a row, and of three the
 * first two are one. Refuses strides by which those two are not. o has been checked. */
typedef struct grid_plane {
    int rows, cols;
    plane_strides in, out;
} grid_plane;
ssm2d_status plan_options_plane(const ssm2d_plan_options *o, grid_plane *p, ssm2d_error *error);

#endif
