/* grid_tokens - what mixers of patch tokens share: tokens before the grid's first (CLS) pass
 * unchanged, and the others are read and written in place through strides. */
#ifndef SSM2D_OPS_GRID_TOKENS_H
#define SSM2D_OPS_GRID_TOKENS_H

#include "ops/elementwise.h"

#include <string.h>

/* What happens to the tokens of an image that are not of the grid. */
typedef struct token_job {
    const node *n;
    size_t first; /* token of the grid */
    real *to;     /* laid out as n's output */
    const real *from;
    int adds, clears; /* clears: tokens of the grid become 0 */
} token_job;

static inline void pass_image(void *arg, size_t b, int worker)
{
    (void)worker;
    const token_job *j = arg;
    const size_t image = j->n->out->count / j->n->out->shape[0],
                 count = j->first * last_axis(j->n->out);
    real *to = j->to + b * image;
    const real *from = j->from + b * image;
    for (size_t i = 0; i < count; i++) to[i] = from[i] + (j->adds ? to[i] : 0);
    if (j->clears) memset(to + count, 0, (image - count) * sizeof(real));
}

/* out[b][t] = in[b][t] for t < first. */
static inline void pass_tokens(const graph *g, const node *n, size_t first)
{
    token_job j = {.n = n, .first = first, .to = n->out->data, .from = n->in[0]->data};
    if (first) pool_run(g->context->pool, n->out->shape[0], pass_image, &j);
}

/* The gradient of the same; that of the grid's tokens is made ready to be added to. */
static inline void pass_gradient(const graph *g, const node *n, size_t first)
{
    const int adds = n->adds[0];
    token_job j = {n, first, n->in[0]->grad, n->out->grad, adds, !adds};
    if (first || !adds) pool_run(g->context->pool, n->out->shape[0], pass_image, &j);
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
