/* two_sided - the layout of the kernel of all directions at once.
 *
 * For each vector of channels: offsets d = -(trunc_rows-1) .. trunc_rows-1, o likewise; an output
 * cell (i, j) sees the input cell (i-d, j-o). Rows are followed, and the first one preceded, by
 * SIDE zero vectors, so that a block of outputs may read past a row's ends. */
#ifndef SSM2D_LAYER_TWO_SIDED_H
#define SSM2D_LAYER_TWO_SIDED_H

#include "layer/layer_names.h"
#include "simd/simd_table.h"
#include "layer/plan.h"

enum { SIDE = CORRELATE_MOST_C - 1 };

/* In numbers: from one row offset to the next, of one vector of channels, and from its start to
 * offset (d, o). */
static inline ptrdiff_t two_sided_row(const ssm2d_plan *p)
{
    return (ptrdiff_t)(2 * p->trunc_cols - 1 + SIDE) * p->lanes;
}
static inline size_t two_sided_size(const ssm2d_plan *p)
{
    return (size_t)SIDE * (size_t)p->lanes
           + (size_t)(2 * p->trunc_rows - 1) * (size_t)two_sided_row(p);
}
static inline ptrdiff_t two_sided_at(const ssm2d_plan *p, int d, int o)
{
    return (ptrdiff_t)(SIDE + o + p->trunc_cols - 1) * p->lanes
           + (d + p->trunc_rows - 1) * two_sided_row(p);
}

/* The column offsets that any direction reaches at row offset d: low .. high; empty when low >
 * high. */
typedef struct reach {
    int low, high;
} reach;
reach two_sided_reach(const ssm2d_plan *plan, int d);

#endif
