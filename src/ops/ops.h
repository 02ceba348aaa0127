/* ops - the operators a model is built from, and the structs that their builders take.
 *
 * Adding one: a file with shape check, forward, backward and descriptor; its line in ops.def, which
 * declares it; an example in one of tests/op_examples_*.c, from which it gets its gradient checks;
 * and an exporter onnx_from_NAME in src/export, unless its line says NO_ONNX.
 * tests/test_extending_op.c does it. */
#ifndef SSM2D_OPS_OPS_H
#define SSM2D_OPS_OPS_H

#include "graph/graph.h"
#include "layers/layer_kind.h"

/* The arrays of a BatchNorm's channels: [D] each, the moments being of the group PARAM_STATE. */
typedef struct batch_norm_arrays {
    tensor *gamma, *beta, *mean, *variance;
} batch_norm_arrays;

typedef enum attention_scores {
    ATTENTION_SOFTMAX, /* exp(s), each row divided by its sum */
    ATTENTION_LAPLACE  /* (1 + erf((s - 0.707107)/(0.282095 * sqrt 2)))/2, no division */
} attention_scores;

/* Scores are s = scale * q.k + bias + mask. Arrays are copied. */
typedef struct attention_options {
    int heads;
    double scale; /* 0: 1/sqrt(the width of a head of q) */
    attention_scores scores;
    /* A table (entries, heads), of one head also (entries), or NULL: query i and key j get entry
     * center + position[i] - position[j]. Windows: position = row*(2*cols - 1) + column. Sequences
     * with entry P-1+j-i: position[i] = -i, center = P-1. */
    tensor *bias;
    const int *position; /* [T] */
    int center;
    /* Windows: `groups` groups of `tokens` tokens of an image attend among themselves. Token t of
     * group w is token order[w*tokens + t] of the image, or padding where that is -1: zeros, from
     * which nothing comes out. Each token of the image is in one place. NULL: an image is one
     * group, and T all of its tokens. */
    const int *order;
    int tokens;
    /* [masks][T][T], finite, or NULL: group w of each image (without an order, each image whose
     * index is w modulo groups) gets mask mask_of[w], and none where that is -1. mask_of NULL:
     * there are as many masks as groups. */
    const float *mask;
    const int *mask_of;
    int masks, groups;
} attention_options;

/* How rearranged tokens are grouped: y: [images*groups][tokens][tokens_per_row*D]. */
typedef struct rearrange_shape {
    size_t images, groups, tokens, tokens_per_row;
    token_grid grid;    /* of y, or none */
    int is_interleaved; /* the tokens of a row alternate: y[.][.][d*tokens_per_row + i] */
} rearrange_shape;

#define OP(name, exported, ...)                                                                    \
    extern const op op_##name;                                                                     \
    tensor *__VA_ARGS__;
#include "ops/ops.def"
#undef OP

/* x as backward finds it: with graph.keeps_bfloat16 it is rounded to bfloat16, which takes half the
 * memory until then, and what reads it gets the rounded values in forward as well; else x itself.
 * Models say so of what matrix products make and of what norms read. */
tensor *keep(graph *g, tensor *x);
/* The same for operators that take bfloat16. */
tensor *keep_narrow(graph *g, tensor *x);

#endif
