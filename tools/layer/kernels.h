/* kernels - what other commands draw as `ssm2d kernels` does. */
#ifndef SSM2D_TOOLS_KERNELS_H
#define SSM2D_TOOLS_KERNELS_H

#include "ssm2d.h"

/* Draws the paper's Figure 3, as `ssm2d kernels --figure3 -o PATH` does. */
ssm2d_status kernels_figure3_draw(ssm2d_context *context, const char *path, ssm2d_error *error);

#endif
