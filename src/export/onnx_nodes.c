/* onnx_nodes - nodes that several exporters need. */
#include "export/onnx_builder.h"

#include <string.h>

const char *onnx_map(onnx_builder *b, const char *type, const char *x)
{
    return onnx_node(b, type, 1, &x, NULL);
}

const char *onnx_join(onnx_builder *b, const char *type, const char *x, const char *y)
{
    return onnx_node(b, type, 2, (const char *[]){x, y}, NULL);
}

const char *onnx_reshape(onnx_builder *b, const char *x, int rank, const int64_t *shape)
{
    return onnx_join(b, "Reshape", x, onnx_integers(b, rank, shape));
}

const char *onnx_transpose(onnx_builder *b, const char *x, int rank, const int64_t *axes)
{
    onnx_attribute a[] = {{.name = "perm", .kind = ONNX_INTS, .count = rank}, {0}};
    memcpy(a[0].list, axes, (size_t)rank * sizeof *axes);
    return onnx_node(b, "Transpose", 1, &x, a);
}

const char *onnx_slice(onnx_builder *b, const char *x, int axis, size_t first, size_t end)
{
    const int64_t at = axis, from = (int64_t)first, to = (int64_t)end;
    const char *in[] = {x, onnx_integers(b, 1, &from), onnx_integers(b, 1, &to),
                        onnx_integers(b, 1, &at)};
    return onnx_node(b, "Slice", 4, in, NULL);
}

const char *onnx_gather(onnx_builder *b, const char *x, int axis, const char *indices)
{
    const onnx_attribute a[] = {{.name = "axis", .kind = ONNX_INT, .integer = axis}, {0}};
    return onnx_node(b, "Gather", 2, (const char *[]){x, indices}, a);
}

const char *onnx_pad(onnx_builder *b, const char *x, int rank, const int64_t *before,
                     const int64_t *after)
{
    int64_t all[2 * ONNX_RANK];
    memcpy(all, before, (size_t)rank * sizeof *all);
    memcpy(all + rank, after, (size_t)rank * sizeof *all);
    return onnx_join(b, "Pad", x, onnx_integers(b, 2 * rank, all));
}

const char *onnx_concat(onnx_builder *b, int axis, int count, const char *const *in)
{
    const onnx_attribute a[] = {{.name = "axis", .kind = ONNX_INT, .integer = axis}, {0}};
    return onnx_node(b, "Concat", count, in, a);
}

const char *onnx_layer_norm(onnx_builder *b, const char *x, const char *gamma, const char *beta,
                            double eps)
{
    const onnx_attribute a[] = {{.name = "axis", .kind = ONNX_INT, .integer = -1},
                                {.name = "epsilon", .kind = ONNX_FLOAT, .real = eps},
                                {0}};
    return onnx_node(b, "LayerNormalization", 3, (const char *[]){x, gamma, beta}, a);
}

const char *onnx_silu(onnx_builder *b, const char *x)
{
    return onnx_join(b, "Mul", x, onnx_map(b, "Sigmoid", x));
}
