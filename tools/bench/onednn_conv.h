/* onednn_conv - oneDNN's depthwise convolution, which `ssm2d bench conv` is compared with. */
#ifndef SSM2D_TOOLS_ONEDNN_CONV_H
#define SSM2D_TOOLS_ONEDNN_CONV_H

#include "ssm2d.h"

typedef struct onednn_conv onednn_conv;

typedef struct onednn_conv_shape {
    size_t batch, rows, cols, channels, kernel;
} onednn_conv_shape;

ssm2d_status onednn_conv_create(ssm2d_context *context, const onednn_conv_shape *shape,
                                onednn_conv **conv, ssm2d_error *error);
void onednn_conv_forward(void *conv);
void onednn_conv_input_gradient(void *conv);
void onednn_conv_train(void *conv); /* forward and backward */
void onednn_conv_destroy(onednn_conv *conv);

#endif
