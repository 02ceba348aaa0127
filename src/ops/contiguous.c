/* contiguous - y = x: a copy of a view, for operators that do not read views. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

static void forward_part(const node *n, size_t row, size_t first, size_t end)
{
    memcpy(row_data(n->out, row) + first, row_data(n->in[0], row) + first,
           (end - first) * sizeof(real));
}

static void backward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real *dy = row_grad(n->out, row);
    real *dx = row_grad(n->in[0], row);
    for (size_t i = first; i < end; i++) dx[i] = dy[i] + (n->adds[0] ? dx[i] : 0);
}

static void forward(const graph *g, const node *n) { elementwise(g, n, forward_part); }
static void backward(const graph *g, const node *n) { elementwise(g, n, backward_part); }

const op op_contiguous = {
    .name = "contiguous", .cheap = 1, .strided_in = 1, .forward = forward, .backward = backward};

tensor *contiguous(graph *g, tensor *x)
{
    if (g->status || x->role != ROLE_VIEW) return x;
    node *n = graph_add(g, &op_contiguous, 1, &x, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
