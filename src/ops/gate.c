/* gate - y = a * b, element by element. */
#include "ops/elementwise.h"
#include "ops/ops.h"

static void forward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real *a = row_data(n->in[0], row), *b = row_data(n->in[1], row);
    real *y = row_data(n->out, row);
    for (size_t i = first; i < end; i++) y[i] = a[i] * b[i];
}

static void backward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real *dy = row_grad(n->out, row);
    for (int k = 0; k < 2; k++) {
        if (!n->in[k]->needs_grad) continue;
        const real *other = row_data(n->in[1 - k], row);
        real *dx = row_grad(n->in[k], row);
        for (size_t i = first; i < end; i++) dx[i] = dy[i] * other[i] + (n->adds[k] ? dx[i] : 0);
    }
}

static void forward(const graph *g, const node *n) { elementwise(g, n, forward_part); }
static void backward(const graph *g, const node *n) { elementwise(g, n, backward_part); }

const op op_gate = {.name = "gate",
                    .reads_in = 3,
                    .affordable = 1,
                    .strided_in = 3,
                    .forward = forward,
                    .backward = backward};

tensor *gate(graph *g, tensor *a, tensor *b)
{
    char one[64], two[64];
    if (g->status) return NULL;
    if (!same_shape(a, b))
        return graph_fail(g, "gate: shapes %s and %s differ", shape_text(a, one),
                          shape_text(b, two));
    node *n = graph_add(g, &op_gate, 2, (tensor *[]){a, b}, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
