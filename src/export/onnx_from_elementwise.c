/* onnx_from_elementwise - elementwise operators, and those on the channels of a token. */
#include "export/onnx_ops.h"

const char *onnx_from_add(onnx_builder *b, const node *n)
{
    return onnx_join(b, "Add", onnx_in(b, n, 0), onnx_in(b, n, 1));
}

const char *onnx_from_gate(onnx_builder *b, const node *n)
{
    return onnx_join(b, "Mul", onnx_in(b, n, 0), onnx_in(b, n, 1));
}

const char *onnx_from_contiguous(onnx_builder *b, const node *n) { return onnx_in(b, n, 0); }

const char *onnx_from_scale(onnx_builder *b, const node *n)
{
    return onnx_join(b, "Mul", onnx_in(b, n, 0), onnx_scalar(b, node_real(n, "factor")));
}

const char *onnx_from_sigmoid(onnx_builder *b, const node *n)
{
    return onnx_map(b, "Sigmoid", onnx_in(b, n, 0));
}

const char *onnx_from_silu(onnx_builder *b, const node *n)
{
    return onnx_silu(b, onnx_in(b, n, 0));
}

const char *onnx_from_silu_gate(onnx_builder *b, const node *n)
{
    return onnx_join(b, "Mul", onnx_in(b, n, 0), onnx_silu(b, onnx_in(b, n, 1)));
}

/* x + sigmoid(u) * (silu(h + p) - x) */
const char *onnx_from_gated_update(onnx_builder *b, const node *n)
{
    const char *x = onnx_in(b, n, 0), *gate = onnx_map(b, "Sigmoid", onnx_in(b, n, 1));
    const char *h = onnx_silu(b, onnx_join(b, "Add", onnx_in(b, n, 2), onnx_in(b, n, 3)));
    return onnx_join(b, "Add", x, onnx_join(b, "Mul", gate, onnx_join(b, "Sub", h, x)));
}

/* x * (1 + erf(x / sqrt 2)) / 2, in the order of operations that runtimes recognise and fuse. */
const char *onnx_from_gelu(onnx_builder *b, const node *n)
{
    const char *x = onnx_in(b, n, 0);
    const char *e = onnx_map(b, "Erf", onnx_join(b, "Div", x, onnx_scalar(b, 1.4142135623730951)));
    const char *twice = onnx_join(b, "Mul", x, onnx_join(b, "Add", e, onnx_scalar(b, 1)));
    return onnx_join(b, "Mul", twice, onnx_scalar(b, 0.5));
}

const char *onnx_from_softmax(onnx_builder *b, const node *n)
{
    const char *x = onnx_in(b, n, 0);
    return onnx_node(b, "Softmax", 1, &x,
                     (onnx_attribute[]){{.name = "axis", .kind = ONNX_INT, .integer = -1}, {0}});
}

const char *onnx_from_layer_norm(onnx_builder *b, const node *n)
{
    return onnx_layer_norm(b, onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in(b, n, 2),
                           node_real(n, "eps"));
}

/* ONNX's BatchNormalization requires channels as the second axis; here they are last. With running
 * moments it is a factor and a shift, both constant, which runtimes compute once.
 *     y = x * f + (beta - mean * f),  f = gamma / sqrt(variance + eps) */
const char *onnx_from_batch_norm(onnx_builder *b, const node *n)
{
    enum { X, GAMMA, BETA, MEAN, VARIANCE };
    const char *root =
        onnx_map(b, "Sqrt",
                 onnx_join(b, "Add", onnx_in(b, n, VARIANCE), onnx_scalar(b, node_real(n, "eps"))));
    const char *factor = onnx_join(b, "Div", onnx_in(b, n, GAMMA), root);
    const char *shift =
        onnx_join(b, "Sub", onnx_in(b, n, BETA), onnx_join(b, "Mul", onnx_in(b, n, MEAN), factor));
    return onnx_join(b, "Add", onnx_join(b, "Mul", onnx_in(b, n, X), factor), shift);
}

/* Row `row` of a table whose last axis is the width. */
static const char *table_row(onnx_builder *b, const tensor *table, size_t row)
{
    const char *x = onnx_value(b, table);
    if (table->rank == 1) return x;
    if (table->rank > 2)
        x = onnx_reshape(b, x, ONNX_SHAPE(-1, (int64_t)table->shape[table->rank - 1]));
    return onnx_gather(b, x, 0, onnx_index(b, row));
}

const char *onnx_from_scale_shift(onnx_builder *b, const node *n)
{
    const size_t row = node_size(n, "row");
    const char *y = onnx_in(b, n, 0);
    if (n->in[1]) y = onnx_join(b, "Mul", y, table_row(b, n->in[1], row));
    if (n->in[2]) y = onnx_join(b, "Add", y, table_row(b, n->in[2], row));
    return y;
}
