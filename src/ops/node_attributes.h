/* node_attributes - what a node was built with, for those who read a finished graph rather than run
 * it (src/export). Each is asked of nodes of its own operator. Arrays belong to the node. */
#ifndef SSM2D_OPS_NODE_ATTRIBUTES_H
#define SSM2D_OPS_NODE_ATTRIBUTES_H

#include "ops/ops.h"

double layer_norm_eps(const node *n);
double batch_norm_eps(const node *n);
double scale_factor(const node *n);
size_t scale_shift_row(const node *n); /* of gamma and beta */
size_t take_token_place(const node *n);
size_t patches_side(const node *n); /* of a patch, in pixels */

/* Token t of an image in y is token index[t] of it in x, or zeros where that is -1. */
typedef struct rearrange_order {
    size_t images, in_tokens, out_tokens; /* tokens of an image */
    const int *index;                     /* [out_tokens] */
} rearrange_order;
rearrange_order rearrange_order_of(const node *n);

/* As in attention_options; of window_attention as well. */
typedef struct attention_setup {
    size_t heads, width, v_width; /* widths of a head */
    size_t tokens, image_groups;  /* tokens of a group, groups of an image */
    double scale;
    attention_scores scores;
    int has_bias;
    const int *position; /* [tokens] */
    int center;
    const int *order;   /* [image_groups][tokens], -1: padding; NULL: as they come */
    size_t mask_groups; /* 0: there is no mask */
    const int *mask_of; /* [mask_groups], the mask of group g modulo mask_groups; -1: none */
} attention_setup;
attention_setup attention_setup_of(const node *n);
/* What is added to the score of a query and a key by a mask. */
double attention_mask_at(const node *n, int mask, size_t query, size_t key);

/* Of mix_ssm2d, mix_s4nd and mix_ema: the tokens that they act on. */
token_grid mix_ssm2d_grid(const node *n);
token_grid mix_baseline_grid(const node *n);
const ssm2d_config *mix_ssm2d_config(const node *n);
const ssm2d_baseline_config *mix_baseline_config(const node *n);

#endif
