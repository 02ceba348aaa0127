/* scale - y = factor * x. */
#include "ops/elementwise.h"
#include "ops/ops.h"

typedef struct scale_attributes {
    double factor;
} scale_attributes;

static const scale_attributes *attributes_of(const node *n) { return n->attributes; }

static const op_attribute attributes[] = {
    {"factor", ATTRIBUTE_REAL, offsetof(scale_attributes, factor)}, {0}};

static void forward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real factor = (real)attributes_of(n)->factor, *x = row_data(n->in[0], row);
    real *y = row_data(n->out, row);
    for (size_t i = first; i < end; i++) y[i] = factor * x[i];
}

static void backward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real factor = (real)attributes_of(n)->factor, *dy = row_grad(n->out, row);
    real *dx = row_grad(n->in[0], row);
    for (size_t i = first; i < end; i++) dx[i] = factor * dy[i] + (n->adds[0] ? dx[i] : 0);
}

static void forward(const graph *g, const node *n) { elementwise(g, n, forward_part); }
static void backward(const graph *g, const node *n) { elementwise(g, n, backward_part); }

const op op_scale = {.name = "scale",
                     .cheap = 1,
                     .strided_in = 1,
                     .forward = forward,
                     .backward = backward,
                     .attributes = attributes};

tensor *scale(graph *g, tensor *x, double factor)
{
    if (g->status) return NULL;
    const scale_attributes a = {factor};
    node *n = graph_add(g, &op_scale, 1, &x, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
