/* grid_tokens - what mixers of patch tokens share: tokens before the grid's first (CLS) pass
 * unchanged, and the others are read and written in place through strides. */
#ifndef SSM2D_OPS_GRID_TOKENS_H
#define SSM2D_OPS_GRID_TOKENS_H

#include "ops/elementwise.h"

/* to[b][t] = from[b][t] (+ to[b][t]) for t < first, to and from being laid out as n's output. */
static inline void pass_tokens(const node *n, size_t first, real *to, const real *from, int adds)
{
    const size_t image = n->out->count / n->out->shape[0], count = first * last_axis(n->out);
    for (size_t b = 0; b < n->out->shape[0]; b++)
        for (size_t i = 0; i < count; i++)
            to[b * image + i] = from[b * image + i] + (adds ? to[b * image + i] : 0);
}

/* A plan for the cells of n's output, as a grid rows x cols. */
static inline ssm2d_plan_options grid_plan_options(const graph *g, const node *n, size_t rows,
                                                   size_t cols)
{
    const ptrdiff_t H = (ptrdiff_t)last_axis(n->out), tokens = (ptrdiff_t)n->out->shape[1];
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = n->out->shape[0];
    o.rows = rows;
    o.cols = cols;
    o.type = sizeof(real) == sizeof(double) ? SSM2D_DOUBLE : SSM2D_FLOAT;
    o.inference = !g->training;
    o.in = o.out = (ssm2d_strides){tokens * H, (ptrdiff_t)cols * H, H, 1};
    return o;
}

#endif
