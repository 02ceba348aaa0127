/* scan - computes the layer as a recurrence, over whole grids or, for streams, row by row. */
#ifndef SSM2D_LAYERS_SCAN_H
#define SSM2D_LAYERS_SCAN_H

#include "layers/ssm2d/ssm2d_internal.h"

/* Sets sizes and reserves memory; refuses truncated kernels, which a recurrence cannot compute. */
ssm2d_status scan_plan_make(ssm2d_kind_plan *plan, ssm2d_error *error);
double scan_cost(const ssm2d_kind_plan *plan);

/* y = the sum of all directions and D.u, with strides `conv_out`. */
void scan_apply(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *u, real *y);
/* dy with strides `conv_out`. Adds to du unless NULL; writes dcoef, dc, dcentre and dd if
 * want_params. */
void scan_backward(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *u, const real *dy,
                   real *du, int want_params);

/* Processes one row: row 0 of u and y (strides: the plan's options.in and conv_out). states:
 * [batch][channels][directions][scan.state]. */
void scan_push(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, real *states, const real *u,
               real *y);

#endif
