/* blocks - what the builders of all families have in common: parameters named after the block they
 * belong to, linear layers, norms, patches, positions. Names of arrays are timm's. */
#ifndef SSM2D_MODELS_BLOCKS_H
#define SSM2D_MODELS_BLOCKS_H

#include "models/model.h"

/* The initial values of an array: param_spec.init and param_spec.scale. */
typedef struct initial_values {
    param_init init;
    double scale;
} initial_values;

/* A family's builder may have one of these as its first member. */
typedef struct builder {
    graph *g;
    const model_config *c;
    initial_values weights;    /* of matrices */
    initial_values embed_bias; /* of embed_patches; zeros where `weights` do not say otherwise */
    double norm_eps;
    param_part part; /* what arrays belong to that are declared now */
    char block[40];  /* "blocks.3", or nothing outside of blocks */
} builder;

/* Arrays declared from now on belong to this block; "": to none. */
void builder_enter(builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All of these return NULL after an error, and accept NULL tensors then. */

/* A parameter of the block: "blocks.3" "." "attn.qkv" ".weight". The part is the builder's. */
tensor *block_param(builder *b, param_spec spec, const char *part, const char *end);
/* PART.bias: zeros, or other initial values. */
tensor *block_bias(builder *b, size_t count, const char *part);
tensor *bias_from(builder *b, size_t count, initial_values initial, const char *part);
/* y = x W^T + b with PART.weight and, unless has_bias is 0, PART.bias. */
tensor *dense(builder *b, tensor *x, int out, int has_bias, const char *part);
/* The same. The first rows of PART.weight and the others are two matrices: xavier draws each by its
 * own size. */
tensor *dense_of_two(builder *b, tensor *x, int out, int first, int has_bias, const char *part);
/* LayerNorm over the last axis with PART.weight and PART.bias. */
tensor *norm(builder *b, tensor *x, const char *part);
/* BatchNorm for each of the last axis, with the running moments beside them as in PyTorch:
 * PART.running_mean and PART.running_var. */
tensor *norm_by_batch(builder *b, tensor *x, const char *part);
/* PART: a convolution, with bias, of patches of side x side that do not overlap. x: [B][patches]
 * [channels*side*side], each flattened as (channel, row, column). A matrix in the graph, (out,
 * channels, side, side) in files. */
tensor *patch_convolution(builder *b, tensor *x, int side, int out, const char *part);
/* patch_embed.proj: [B][patches][dim], with their grid. */
tensor *embed_patches(builder *b, tensor *images, int patch, int dim);
/* What is added to every token: NAME, (1, grid.first + patches, dim). */
tensor *positions(builder *b, token_grid grid, int dim, initial_values initial, const char *name);
/* The model's mixer, if this is its place; else x. */
tensor *mix_at(builder *b, tensor *x, mixer_place place);

/* Of models with stages: a list with one entry for each; the sum of its entries; and one entry that
 * stands for all, doubled from stage to stage up to `max`. */
#define STAGE_LIST(...)                                                                            \
    {                                                                                              \
        sizeof((int[]){__VA_ARGS__}) / sizeof(int), { __VA_ARGS__ }                                \
    }
int stage_list_sum(const ssm2d_list *list);
void stage_list_fill(ssm2d_list *list, int stages, int max);
/* The side in pixels of a token after the first `blocks` blocks, when each stage halves the map.
 * The image's side divided by the map's is something else where an odd map was cut or padded. */
int stage_token_side(const ssm2d_list *depth, int patch, int blocks);

/* The side of a patch: `given`, or where that is 0 `small`, twice as much from 64 pixels on, so
 * that the paper's models have as many patches at 64 pixels as at 32. */
int patch_side(int given, int small, int rows, int cols);
int patches_fit(int patch, int rows, int cols);
/* The patches of an image of the model. */
ssm2d_grid patch_grid(const model_config *c, int patch);
/* Refuses images that cannot be cut into patches of this side. */
ssm2d_status check_patch(const model_config *c, int patch, ssm2d_error *error);

#endif
