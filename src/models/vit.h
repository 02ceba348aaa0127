/* vit - the configuration of vision transformers. */
#ifndef SSM2D_MODELS_VIT_H
#define SSM2D_MODELS_VIT_H

#include "models/model.h"

typedef enum vit_init { VIT_XAVIER, VIT_TRUNC_NORMAL } vit_init;

typedef struct vit_config {
    int patch; /* side in pixels */
    int dim, depth, heads;
    double mlp_ratio;
    int qkv_bias;
    double norm_eps;
    int pos_embed;
    double pos_scale; /* deviation of its initial values */
    double drop_path;
    int drop_path_ramp; /* whether drop_path grows linearly from 0 over the blocks */
    int init;           /* a vit_init */
} OWN_CONFIG vit_config;

/* c is a model of the family vit. */
static inline vit_config *vit_of(model_config *c) { return (vit_config *)(void *)c->own; }

#endif
