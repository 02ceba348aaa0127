/* mix - what a node of the operator mix computes, for those who read a graph. */
#ifndef SSM2D_OPS_MIX_H
#define SSM2D_OPS_MIX_H

#include "ops/ops.h"

typedef struct mix_setup {
    ssm2d_layer layer;
    token_grid grid;
} mix_setup;
mix_setup mix_setup_of(const node *n);

#endif
