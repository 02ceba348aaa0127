/* quantization - how the linear layers of a model are computed with 8-bit factors: what calibration
 * has found, and a file has. Layers that are not in the list are computed in real. */
#ifndef SSM2D_GRAPH_QUANTIZATION_H
#define SSM2D_GRAPH_QUANTIZATION_H

#include <stddef.h>
#include <string.h>

/* x is about scale * (q - zero), q from 0 to 255; the weights of output i are weight_scales[i]
 * times integers from -127 to 127. */
typedef struct quantized_linear {
    const char *weight; /* the name of the layer's weights */
    size_t outputs;
    float scale;
    int zero;
    float *weight_scales; /* [outputs] */
} quantized_linear;

typedef struct quantization {
    int count;
    quantized_linear *list;
} quantization;

/* NULL: the layer is not quantised; q may be NULL: none is. */
static inline const quantized_linear *quantization_find(const quantization *q, const char *weight)
{
    for (int i = 0; q && i < q->count; i++)
        if (!strcmp(q->list[i].weight, weight)) return &q->list[i];
    return NULL;
}

#endif
