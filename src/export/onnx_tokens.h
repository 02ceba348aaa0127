/* onnx_tokens - tokens in another order, for the exporters that need it. */
#ifndef SSM2D_EXPORT_ONNX_TOKENS_H
#define SSM2D_EXPORT_ONNX_TOKENS_H

#include "export/onnx_builder.h"

/* Token t of an image becomes its token index[t], or zeros where that is -1.
 * x: [B][tokens][D] -> [B][count][D] */
const char *onnx_gather_tokens(onnx_builder *b, const char *x, size_t tokens, size_t count,
                               const int *index);

#endif
