/* add - y = a + b, same shape. Its gradient goes on unchanged; the memory plan lets it stay where
 * it is when that is safe. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

static void forward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real *a = row_data(n->in[0], row), *b = row_data(n->in[1], row);
    real *y = row_data(n->out, row);
    for (size_t i = first; i < end; i++) y[i] = a[i] + b[i];
}

static void rows(const graph *g, const node *n, size_t count, const void *const *in, void *out)
{
    (void)g;
    const size_t width = last_axis(n->out), a_row = n->in[0]->row_stride,
                 b_row = n->in[1]->row_stride;
    const real *a = in[0], *b = in[1];
    real *y = out;
    for (size_t r = 0; r < count; r++, y += width)
        for (size_t i = 0; i < width; i++) y[i] = a[r * a_row + i] + b[r * b_row + i];
}

/* Whether the gradient of in[k] is not already there because it is that of the output. */
static int moves(const node *n, int k)
{
    return n->in[k]->needs_grad && (n->adds[k] || n->in[k]->grad != n->out->grad);
}

static void backward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real *dy = row_grad(n->out, row);
    for (int k = 0; k < 2; k++) {
        if (!moves(n, k)) continue;
        real *dx = row_grad(n->in[k], row);
        if (!n->adds[k])
            memcpy(dx + first, dy + first, (end - first) * sizeof(real));
        else
            for (size_t i = first; i < end; i++) dx[i] += dy[i];
    }
}

static void forward(const graph *g, const node *n) { elementwise(g, n, forward_part); }

static void backward(const graph *g, const node *n)
{
    if (moves(n, 0) || moves(n, 1)) elementwise(g, n, backward_part);
}

const op op_add = {.name = "add",
                   .passes = 3,
                   .strided_in = 3,
                   .forward = forward,
                   .rows = rows,
                   .rows_in = 3,
                   .backward = backward};

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
