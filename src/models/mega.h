/* mega - the configuration of Mega: gated attention with one head, an EMA (or another mixer) before
 * it. */
#ifndef SSM2D_MODELS_MEGA_H
#define SSM2D_MODELS_MEGA_H

#include "models/model.h"

typedef enum mega_attention { MEGA_LAPLACE, MEGA_SOFTMAX } mega_attention;
typedef enum mega_norm { MEGA_LAYER_NORM, MEGA_BATCH_NORM } mega_norm;

typedef enum mega_init { MEGA_NORMAL, MEGA_AUTHORS } mega_init;
typedef enum mega_head { MEGA_PROJECTION, MEGA_LRA } mega_head;

typedef struct mega_config {
    int patch; /* side in pixels */
    int dim, depth, heads;
    int z, v, ffn;     /* widths: of q and k, of the values, and inside the feed-forward part */
    int attention;     /* a mega_attention */
    int relative_bias; /* whether scores have a bias for the offset between query and key */
    int max_positions; /* P: the bias has 2P - 1 entries; 0: the number of tokens */
    int norm;          /* a mega_norm */
    double norm_eps;
    int pos_embed;
    double drop_path; /* in the last block; grows linearly from 0 */
    int init;         /* a mega_init */
    int head;         /* a mega_head */
} OWN_CONFIG mega_config;

/* c is a model of the family mega. */
static inline mega_config *mega_of(model_config *c) { return (mega_config *)(void *)c->own; }

#endif
