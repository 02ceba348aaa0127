/* blocks - shared by the builders of all families: fields of their configurations, parameters named
 * after their block, linear layers, norms, patches, positions. Names of arrays are timm's. */
#ifndef SSM2D_MODELS_BLOCKS_H
#define SSM2D_MODELS_BLOCKS_H

#include "models/model.h"

/* Fields of a family's configuration; OWN is the name of its type. clang-format would take the
 * braces for blocks. */
/* clang-format off */
#define OWN_FIELD(kind, name, low, high, help)                                                     \
    {#name, help, SSM2D_KIND_##kind, offsetof(OWN, name), low, high, NULL, NULL, NULL}
#define OWN_FLAG(name, help) OWN_FIELD(FLAG, name, 0, 1, help)
#define OWN_CHOICE(name, names, help)                                                              \
    {#name, help, SSM2D_KIND_CHOICE, offsetof(OWN, name), 0, 1, NULL, names, NULL}
/* clang-format on */

/* The initial values of an array: param_spec.init and param_spec.scale. */
typedef struct initial_values {
    param_init init;
    double scale;
} initial_values;

/* The state of a builder; a family's own builder may contain one. */
typedef struct builder {
    graph *g;
    const model_config *c;
    initial_values weights;    /* of matrices */
    initial_values embed_bias; /* of embed_patches; PARAM_ZEROS: as `weights` imply */
    double norm_eps;
    param_part part; /* of the arrays that are declared now */
    char block[40];  /* "blocks.3"; "" outside blocks */
} builder;

/* Sets the block of the arrays that are declared next; "": none. */
void builder_enter(builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After an error, these functions return NULL and accept NULL tensors. */

/* A parameter of the block: "blocks.3" "." "attn.qkv" ".weight". */
tensor *block_param(builder *b, param_spec spec, const char *part, const char *end);
/* y = x W^T + b with PART.weight and, unless has_bias is 0, PART.bias. */
tensor *dense(builder *b, tensor *x, int out, int has_bias, const char *part);
/* The same, with PART.weight initialised as two matrices, the first with `first` rows: xavier
 * scales each by its own size. */
tensor *dense_of_two(builder *b, tensor *x, int out, int first, int has_bias, const char *part);
/* LayerNorm over the last axis with PART.weight and PART.bias. */
tensor *norm(builder *b, tensor *x, const char *part);
/* BatchNorm over all but the last axis; also has PyTorch's PART.running_mean and
 * PART.running_var. */
tensor *norm_by_batch(builder *b, tensor *x, const char *part);
/* PART: a convolution with bias over non-overlapping patches of side x side. x: [B][patches]
 * [channels*side*side], each flattened as (channel, row, column). The weights are a matrix in the
 * graph, and (out, channels, side, side) in files. */
tensor *patch_convolution(builder *b, tensor *x, int side, int out, const char *part);
/* patch_embed.proj: [B][patches][dim], with their grid. */
tensor *embed_patches(builder *b, tensor *images, int patch, int dim);
/* The position embedding NAME: (1, grid.first + patches, dim). */
tensor *positions(builder *b, token_grid grid, int dim, initial_values initial, const char *name);
/* Applies the model's mixer if this is its place; otherwise returns x. */
tensor *mix_at(builder *b, tensor *x, mixer_place place);

/* For models with stages: the initialiser of a list with an entry per stage; the sum of the
 * entries; and the completion of a list with one entry, which is doubled from stage to stage up to
 * `max`. */
#define STAGE_LIST(...)                                                                            \
    {                                                                                              \
        sizeof((int[]){__VA_ARGS__}) / sizeof(int), { __VA_ARGS__ }                                \
    }
int stage_list_sum(const ssm2d_list *list);
void stage_list_fill(ssm2d_list *list, int stages, int max);
/* The side in pixels of a token after the first `blocks` blocks if each stage halves the map. It is
 * not the image's side divided by the map's, because odd maps are cut or padded. */
int stage_token_side(const ssm2d_list *depth, int patch, int blocks);

/* The side of a patch: `given`, unless it is 0; else `small`, doubled from 64 pixels on, so that
 * the paper's models have as many patches at 64 pixels as at 32. */
int patch_side(int given, int small, int rows, int cols);
int patches_fit(int patch, int rows, int cols);
/* The grid of patches of the model's images. */
ssm2d_grid patch_grid(const model_config *c, int patch);
/* Refuses images that cannot be cut into patches of this side. */
ssm2d_status check_patch(const model_config *c, int patch, ssm2d_error *error);

#endif
