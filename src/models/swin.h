/* swin - the configuration of Swin transformers. */
#ifndef SSM2D_MODELS_SWIN_H
#define SSM2D_MODELS_SWIN_H

#include "models/model.h"

typedef enum swin_init { SWIN_TRUNC_NORMAL, SWIN_TORCH } swin_init;

/* Lists have one entry for each stage. */
typedef struct swin_config {
    int patch; /* side in pixels */
    ssm2d_list dim, depth, heads;
    double mlp_ratio;
    int window; /* side in tokens, before it is clipped to the map */
    int qkv_bias;
    double norm_eps;
    int pos_embed, relative_bias, patch_norm;
    double drop_path;
    int init; /* a swin_init */
} OWN_CONFIG swin_config;

/* c is a model of the family swin. */
static inline swin_config *swin_of(model_config *c) { return (swin_config *)(void *)c->own; }

#endif
