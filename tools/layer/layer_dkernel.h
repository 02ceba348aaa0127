/* layer_dkernel - the gradient with respect to the 2-D SSM's kernels, from its definition. */
#ifndef SSM2D_TOOLS_LAYER_DKERNEL_H
#define SSM2D_TOOLS_LAYER_DKERNEL_H

#include "layer_case.h"

/* Computes the gradient of the loss with respect to each direction's kernel,
 * dkernel[directions][channels][rows][cols], by its definition: a plain correlation of u with the
 * gradient at the convolution's output. */
ssm2d_status layer_dkernel(ssm2d_context *context, const layer_case *c, double *dkernel,
                           ssm2d_error *error);

#endif
