/* conv_layer - settings and plan of the depthwise convolution as a layer. */
#ifndef SSM2D_LAYERS_CONV_LAYER_H
#define SSM2D_LAYERS_CONV_LAYER_H

#include "layers/layer_kind.h"

typedef struct conv_config {
    int channels, kernel, bias;
} conv_config;

typedef struct conv_layer_plan {
    ssm2d_plan base;
    conv_config config;
    int trunc_rows, trunc_cols; /* offsets between two cells of the grid are smaller */
    void *conv;                 /* a conv_plan of the plan's number type */
    /* Offsets in a workspace. */
    size_t k2, dk2; /* the kernel in the layout of src/conv; its gradient */
    size_t bias;    /* [vectors][lanes] */
    size_t sums;    /* [parts][channels], partial sums of dbias */
    size_t memory;  /* scratch of the convolution */
} conv_layer_plan;

extern const layer_functions conv_functions_f32, conv_functions_f64;

#endif
