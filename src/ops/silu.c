/* silu - y = x * s(x), s the sigmoid. */
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

static void forward(const graph *g, const node *n)
{
    map(g, n, simd_ops_for(g->context->cpu)->silu);
}

static void backward(const graph *g, const node *n)
{
    map_back(g, n, n->in[0], simd_ops_for(g->context->cpu)->silu_back);
}

const op op_silu = {.name = "silu",
                    .reads_in = 1,
                    .cheap = 1,
                    .strided_in = 1,
                    .forward = forward,
                    .backward = backward};

tensor *silu(graph *g, tensor *x)
{
    if (g->status) return NULL;
    node *n = graph_add(g, &op_silu, 1, &x, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
