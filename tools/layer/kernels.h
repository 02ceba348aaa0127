/* kernels - figures of `ssm2d kernels` that other commands draw as well. */
#ifndef SSM2D_TOOLS_KERNELS_H
#define SSM2D_TOOLS_KERNELS_H

#include "ssm2d.h"

/* Draws the paper's Figure 2, as `ssm2d kernels --figure2 -o PATH` does. */
ssm2d_status kernels_figure2_draw(ssm2d_context *context, const char *path, ssm2d_error *error);

#endif
