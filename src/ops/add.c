/* add - y = a + b, same shape. Its gradient goes on unchanged; the memory plan lets it stay where
 * it is when that is safe. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

static void forward_part(const node *n, size_t first, size_t end)
{
    const real *a = n->in[0]->data, *b = n->in[1]->data;
    real *y = n->out->data;
    for (size_t i = first; i < end; i++) y[i] = a[i] + b[i];
}

static void backward_part(const node *n, size_t first, size_t end)
{
    const real *dy = n->out->grad;
    for (int k = 0; k < 2; k++) {
        real *dx = n->in[k]->grad;
        if (!n->in[k]->needs_grad || (dx == dy && !n->adds[k])) continue;
        if (!n->adds[k])
            memcpy(dx + first, dy + first, (end - first) * sizeof(real));
        else
            for (size_t i = first; i < end; i++) dx[i] += dy[i];
    }
}

static void forward(const graph *g, const node *n)
{
    elementwise(g, n, n->out->count, forward_part);
}

static void backward(const graph *g, const node *n)
{
    int moves = 0;
    for (int k = 0; k < 2; k++)
        moves |= n->in[k]->needs_grad && (n->adds[k] || n->in[k]->grad != n->out->grad);
    if (moves) elementwise(g, n, n->out->count, backward_part);
}

const op op_add = {.name = "add", .passes = 3, .forward = forward, .backward = backward};

tensor *add(graph *g, tensor *a, tensor *b)
{
    char one[64], two[64];
    if (g->status) return NULL;
    if (!same_shape(a, b))
        return graph_fail(g, "add: shapes %s and %s differ", shape_text(a, one),
                          shape_text(b, two));
    node *n = graph_add(g, &op_add, 2, (tensor *[]){a, b}, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
