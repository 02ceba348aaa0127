/* gelu - y = x * Phi(x), Phi the distribution function of the normal distribution, by erf. */
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

static void forward(const graph *g, const node *n)
{
    map(g, n, simd_ops_for(g->context->cpu)->gelu);
}

static void rows(const graph *g, const node *n, size_t count, const void *const *in, void *out)
{
    map_rows(g, n, count, in, out, simd_ops_for(g->context->cpu)->gelu);
}

static void backward(const graph *g, const node *n)
{
    map_back(g, n, n->in[0], simd_ops_for(g->context->cpu)->gelu_back);
}

const op op_gelu = {.name = "gelu",
                    .reads_in = 1,
                    .cheap = 1,
                    .strided_in = 1,
                    .takes = {ELEMENT_BIT(ELEMENT_REAL) | ELEMENT_BIT(ELEMENT_BFLOAT16)},
                    .forward = forward,
                    .rows = rows,
                    .rows_in = 1,
                    .backward = backward};

tensor *gelu(graph *g, tensor *x)
{
    if (g->status) return NULL;
    node *n = graph_add(g, &op_gelu, 1, &x, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
