/* onnx_ops - the exporters of operators: an exporter adds ONNX nodes for a node of our graph and
 * returns the value of its output, which has the same shape. */
#ifndef SSM2D_EXPORT_ONNX_OPS_H
#define SSM2D_EXPORT_ONNX_OPS_H

#include "export/onnx_builder.h"

typedef const char *onnx_exporter(onnx_builder *b, const node *n);

/* The exporters that ops.def declares. */
#define DECLARE_ONNX(name) onnx_exporter onnx_from_##name;
#define DECLARE_NO_ONNX(name)
#define OP(name, exported, ...) DECLARE_##exported(name)
#include "ops/ops.def"
#undef OP

/* The value of input i of a node. */
static inline const char *onnx_in(onnx_builder *b, const node *n, int i)
{
    return onnx_value(b, n->in[i]);
}

/* Token t of an image becomes its token index[t], or zeros where that is -1.
 * x: [B][tokens][D] -> [B][count][D] */
const char *onnx_gather_tokens(onnx_builder *b, const char *x, size_t tokens, size_t count,
                               const int *index);

#endif
