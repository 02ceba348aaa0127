/* gated_update - y = x + sigmoid(u) * (silu(h + p) - x), element by element: the end of a block of
 * Mega. */
#include "ops/elementwise.h"
#include "ops/ops.h"

enum { X, U, H, P, INPUTS };

static gated_update_args args_of(const node *n, size_t row, size_t first)
{
    return (gated_update_args){.x = row_data(n->in[X], row) + first,
                               .u = row_data(n->in[U], row) + first,
                               .h = row_data(n->in[H], row) + first,
                               .p = row_data(n->in[P], row) + first};
}

static void forward_part(const simd_ops *simd, const node *n, size_t row, size_t first, size_t end)
{
    gated_update_args args = args_of(n, row, first);
    args.y = row_data(n->out, row) + first;
    simd->gated_update(&args, end - first);
}

static void backward_part(const simd_ops *simd, const node *n, size_t row, size_t first, size_t end)
{
    gated_update_args args = args_of(n, row, first);
    args.dy = row_grad(n->out, row) + first;
    args.dx = gradient_at(n, X, row, first);
    args.du = gradient_at(n, U, row, first);
    args.dh = gradient_at(n, H, row, first);
    args.dp = gradient_at(n, P, row, first);
    for (int i = 0; i < INPUTS; i++) args.adds[i] = n->adds[i];
    simd->gated_update_back(&args, end - first);
}

static void forward(const graph *g, const node *n) { elementwise_simd(g, n, forward_part); }
static void backward(const graph *g, const node *n) { elementwise_simd(g, n, backward_part); }

const op op_gated_update = {.name = "gated_update",
                            .reads_in = 15,
                            .cheap = 1,
                            .strided_in = 15,
                            .forward = forward,
                            .backward = backward};

tensor *gated_update(graph *g, tensor *x, tensor *u, tensor *h, tensor *p)
{
    tensor *const in[INPUTS] = {x, u, h, p};
    if (g->status || !fit_together(g, "gated_update", INPUTS, in)) return NULL;
    node *n = graph_add(g, &op_gated_update, INPUTS, in, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
