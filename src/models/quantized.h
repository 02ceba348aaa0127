/* quantized - quantising the weights of linear layers to 8 bits. */
#ifndef SSM2D_MODELS_QUANTIZED_H
#define SSM2D_MODELS_QUANTIZED_H

#include "graph/quantization.h"
#include "models/weights.h"

/* Makes the list of the arrays i for which chosen[i] is set; the rest of its entries is zero, for
 * the caller to fill. It is one block of memory, which the caller frees with mem_free; NULL if out
 * of memory. */
quantization *quantization_create(const weights *w, const uint8_t *chosen);
/* For each row of w[rows][k] the scale whose integers, -127 to 127, are closest to it: the least
 * sum of squared errors among some fractions of its largest element. */
void quantization_scales(const float *w, size_t rows, size_t k, float *scales);
/* q[rows][k]: the integers; to the nearest, halves to the even one. */
void quantize_weights(const float *w, size_t rows, size_t k, const float *scales, int8_t *q);

#endif
