/* gate - y = a * b, number by number. */
#include "ops/elementwise.h"
#include "ops/ops.h"

static void forward_part(const node *n, size_t first, size_t end)
{
    const real *a = n->in[0]->data, *b = n->in[1]->data;
    real *y = n->out->data;
    for (size_t i = first; i < end; i++) y[i] = a[i] * b[i];
}

static void backward_part(const node *n, size_t first, size_t end)
{
    const real *dy = n->out->grad;
    for (int k = 0; k < 2; k++) {
        const real *other = n->in[1 - k]->data;
        real *dx = n->in[k]->grad;
        if (!n->in[k]->needs_grad) continue;
        for (size_t i = first; i < end; i++) dx[i] = dy[i] * other[i] + (n->adds[k] ? dx[i] : 0);
    }
}

static void forward(const graph *g, const node *n)
{
    elementwise(g, n, n->out->count, forward_part);
}
static void backward(const graph *g, const node *n)
{
    elementwise(g, n, n->out->count, backward_part);
}

const op op_gate = {.name = "gate", .reads_in = 3, .forward = forward, .backward = backward};

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
