/* onnx_ops - how each operator is written as ONNX: an exporter adds nodes for a node of ours and
 * returns the value of its output, with the shape that the output has. */
#ifndef SSM2D_EXPORT_ONNX_OPS_H
#define SSM2D_EXPORT_ONNX_OPS_H

#include "export/onnx_builder.h"

typedef const char *onnx_exporter(onnx_builder *b, const node *n);

#define OP(name) onnx_exporter onnx_from_##name;
#include "export/onnx_ops.def"
#undef OP

/* The value of input i of a node. */
static inline const char *onnx_in(onnx_builder *b, const node *n, int i)
{
    return onnx_value(b, n->in[i]);
}

#endif
