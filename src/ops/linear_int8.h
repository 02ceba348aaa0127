/* linear_int8 - the node that the operator linear appends for a quantised layer. */
#ifndef SSM2D_OPS_LINEAR_INT8_H
#define SSM2D_OPS_LINEAR_INT8_H

#include "graph/graph.h"
#include "graph/quantization.h"

/* x, w and b as for linear. layer: borrowed until the graph is destroyed. */
tensor *linear_int8(graph *g, tensor *x, tensor *w, tensor *b, const quantized_linear *layer);

#endif
