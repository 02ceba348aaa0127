/* convnext - the configuration of ConvNeXts. */
#ifndef SSM2D_MODELS_CONVNEXT_H
#define SSM2D_MODELS_CONVNEXT_H

#include "models/model.h"

/* Lists have one entry for each stage. */
typedef struct convnext_config {
    int patch; /* side in pixels */
    ssm2d_list dim, depth;
    double mlp_ratio, norm_eps, layer_scale, drop_path;
} OWN_CONFIG convnext_config;

#endif
