/* scan - one row of the recurrence for every image, channel and direction; the stream keeps the
 * states between rows. */
#ifndef SSM2D_LAYER_SCAN_H
#define SSM2D_LAYER_SCAN_H

#include "layer/layer_internal.h"

/* Numbers of state that one image, channel and direction carries from row to row. */
static inline size_t scan_state(const ssm2d_plan *p)
{
    return (size_t)p->cols * 2 * (size_t)p->wide;
}

/* Row 0 of u and y (strides of the plan's options.in and conv_out); states:
 * [batch][channels][directions][scan_state]. */
void scan_push(const ssm2d_plan *plan, ssm2d_workspace *ws, real *states, const real *u, real *y);

#endif
