/* sigmoid - y = 1/(1 + exp(-x)). */
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

static void forward(const graph *g, const node *n)
{
    map(g, n, simd_ops_for(g->context->cpu)->sigmoid);
}

static void backward(const graph *g, const node *n)
{
    map_back(g, n, n->out, simd_ops_for(g->context->cpu)->sigmoid_back);
}

const op op_sigmoid = {
    .name = "sigmoid", .reads_out = 1, .strided_in = 1, .forward = forward, .backward = backward};

tensor *sigmoid(graph *g, tensor *x)
{
    if (g->status) return NULL;
    node *n = graph_add(g, &op_sigmoid, 1, &x, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
