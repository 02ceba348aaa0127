/* silu_gate - y = a * silu(b), element by element. */
#include "ops/elementwise.h"
#include "ops/ops.h"

enum { A, B };

static void forward_part(const simd_ops *simd, const node *n, size_t row, size_t first, size_t end)
{
    simd->silu_gate(row_data(n->out, row) + first, row_data(n->in[A], row) + first,
                    row_data(n->in[B], row) + first, end - first);
}

static void backward_part(const simd_ops *simd, const node *n, size_t row, size_t first, size_t end)
{
    const silu_gate_args args = {.a = row_data(n->in[A], row) + first,
                                 .b = row_data(n->in[B], row) + first,
                                 .dy = row_grad(n->out, row) + first,
                                 .da = gradient_at(n, A, row, first),
                                 .db = gradient_at(n, B, row, first),
                                 .adds = {n->adds[A], n->adds[B]}};
    simd->silu_gate_back(&args, end - first);
}

static void forward(const graph *g, const node *n) { elementwise_simd(g, n, forward_part); }
static void backward(const graph *g, const node *n) { elementwise_simd(g, n, backward_part); }

const op op_silu_gate = {.name = "silu_gate",
                         .reads_in = 1 << A | 1 << B,
                         .cheap = 1,
                         .strided_in = 1 << A | 1 << B,
                         .forward = forward,
                         .backward = backward};

tensor *silu_gate(graph *g, tensor *a, tensor *b)
{
    if (g->status || !fit_together(g, "silu_gate", 2, (tensor *[]){a, b})) return NULL;
    node *n = graph_add(g, &op_silu_gate, 2, (tensor *[]){a, b}, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
