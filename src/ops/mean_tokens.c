/* mean_tokens - y[b] = mean over t of x[b][t].  x: [B][T][D], y: [B][D]. */
#include "core/arith.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

enum { COLUMNS = 64 }; /* of a task */

static size_t blocks_of(const node *n) { return div_up_size(n->in[0]->shape[2], COLUMNS); }

/* Some columns of an image. */
static void forward_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t T = n->in[0]->shape[1], D = n->in[0]->shape[2], b = task / blocks_of(n),
                 first = task % blocks_of(n) * COLUMNS, end = min_size(first + COLUMNS, D);
    const real *x = n->in[0]->data + b * T * D;
    real *y = n->out->data + b * D;
    memset(y + first, 0, (end - first) * sizeof(real));
    for (size_t t = 0; t < T; t++)
        for (size_t d = first; d < end; d++) y[d] += x[t * D + d];
    for (size_t d = first; d < end; d++) y[d] /= (real)T;
}

static void backward_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t T = n->in[0]->shape[1], D = n->in[0]->shape[2], b = task / blocks_of(n),
                 first = task % blocks_of(n) * COLUMNS, end = min_size(first + COLUMNS, D);
    const real *dy = n->out->grad + b * D;
    real *dx = n->in[0]->grad + b * T * D;
    for (size_t t = 0; t < T; t++)
        for (size_t d = first; d < end; d++)
            dx[t * D + d] = dy[d] / (real)T + (n->adds[0] ? dx[t * D + d] : 0);
}

static void forward(const graph *g, const node *n)
{
    pool_run(g->context->pool, n->out->shape[0] * blocks_of(n), forward_block, (void *)n);
}
static void backward(const graph *g, const node *n)
{
    pool_run(g->context->pool, n->out->shape[0] * blocks_of(n), backward_block, (void *)n);
}

const op op_mean_tokens = {.name = "mean_tokens", .forward = forward, .backward = backward};

tensor *mean_tokens(graph *g, tensor *x)
{
    char one[64];
    if (g->status) return NULL;
    if (x->rank != 3)
        return graph_fail(g, "mean_tokens: %s is not (batch, tokens, channels)",
                          shape_text(x, one));
    const size_t shape[] = {x->shape[0], x->shape[2]};
    node *n = graph_add(g, &op_mean_tokens, 1, &x, 2, shape, NULL, 0);
    return n ? n->out : NULL;
}
