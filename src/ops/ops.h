/* ops - the operators a model is built from. Each appends a node and returns its output (NULL after
 * an error).
 *
 * Adding one: a file with shape check, forward, backward and descriptor; its line in ops.def; its
 * declaration here; an example in one of tests/op_examples_*.c, from which it gets its gradient
 * checks; its exporter in src/export, and attributes that this needs in node_attributes.h. */
#ifndef SSM2D_OPS_OPS_H
#define SSM2D_OPS_OPS_H

#include "graph/graph.h"
#include "ssm2d_baselines.h"

#define OP(name) extern const op op_##name;
#include "ops/ops.def"
#undef OP

/* y = x W^T + b.  x: [..][in], W: [out][in], b: [out] or NULL */
tensor *linear(graph *g, tensor *x, tensor *w, tensor *b);
/* y = (x - mean)/sqrt(var + eps) * gamma + beta over the last axis, biased variance */
tensor *layer_norm(graph *g, tensor *x, tensor *gamma, tensor *beta, double eps);
/* What belongs to the channels of a BatchNorm: [D] each, the moments being of the group
 * PARAM_STATE. */
typedef struct batch_norm_arrays {
    tensor *gamma, *beta, *mean, *variance;
} batch_norm_arrays;

/* The same over all rows for each of the last axis. In training (graph.random) with mean and biased
 * variance of the rows, to which the running ones are moved by `momentum` (the variance without its
 * bias), once in every forward run; otherwise with the running ones. */
tensor *batch_norm(graph *g, tensor *x, const batch_norm_arrays *a, double momentum, double eps);
/* y = x * gamma + beta over the last axis D, gamma and beta being row `row` of [..][D]; one of them
 * may be NULL */
tensor *scale_shift(graph *g, tensor *x, tensor *gamma, tensor *beta, size_t row);
/* Multi-head attention over tokens. qkv: [B][T][3*D], row = which*D + head*(D/heads) + d; y:
 * [B][T][D], heads side by side; y = softmax(q k^T / sqrt(D/heads)) v */
tensor *attention(graph *g, tensor *qkv, int heads);

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
     * number is w modulo groups) gets mask mask_of[w], and none where that is -1. mask_of NULL:
     * there are as many masks as groups. */
    const float *mask;
    const int *mask_of;
    int masks, groups;
} attention_options;

/* The same with more options. q, k: [B][T][heads*w], v: [B][T][heads*u]; y: [B][T][heads*u]. Memory
 * for scores is a few rows for each worker, however large T is; masks are kept as they are given.
 * Softmax among few tokens is the operator window_attention. */
tensor *attention_of(graph *g, tensor *q, tensor *k, tensor *v, const attention_options *o);
/* The patches of images, flattened as (channel, row, column). x: [B][C][R][S] (input), y:
 * [B][R/p*S/p][C*p*p] */
tensor *patches(graph *g, tensor *x, int patch);
/* y[b] = [cls; x[b]] + pos.  x: [B][T][D], cls: [1][1][D] or NULL, pos: [1][T+1 or T][D] or NULL */
tensor *embed(graph *g, tensor *x, tensor *cls, tensor *pos);
/* How rearranged tokens are grouped: y: [images*groups][tokens][tokens_per_row*D]. */
typedef struct rearrange_shape {
    size_t images, groups, tokens, tokens_per_row;
    token_grid grid; /* of y; rows 0: none */
} rearrange_shape;

/* Tokens in another order, the same for all images: token t of an image in y is token index[t] of
 * it in x, or zeros when index[t] is -1. Windows, shifts and padding are such orders, and so is the
 * way back from them. x: [images*I][T][D]; index: [count], count = groups * tokens *
 * tokens_per_row; it is copied. */
tensor *rearrange(graph *g, tensor *x, const int *index, size_t count, const rearrange_shape *to);
/* Neighbours 2 x 2 of a grid side by side, in the order [row, column parity] (even, even), (odd,
 * even), (even, odd), (odd, odd); an odd side is padded with zeros. x: [B][rows*cols][D], y:
 * [B][(rows+1)/2 * (cols+1)/2][4*D]. */
tensor *merge(graph *g, tensor *x, int rows, int cols);
/* y[b] = x[b][t].  x: [B][T][D], y: [B][D] */
tensor *take_token(graph *g, tensor *x, int t);
/* y[b] = mean of x[b] over tokens */
tensor *mean_tokens(graph *g, tensor *x);
/* The 2-D SSM over tokens from `first` on (tokens before it pass unchanged), as a grid rows x cols
 * in raster order. params: the layer's flat parameters as one tensor [ssm2d_param_total]. x, y:
 * [B][first + rows*cols][H] */
tensor *mix_ssm2d(graph *g, tensor *x, tensor *params, const ssm2d_config *config, int first,
                  int rows, int cols);
/* The same with S4ND, or with EMA in raster order and its SiLU. params: as many numbers as
 * ssm2d_baseline_param_total says. */
tensor *mix_s4nd(graph *g, tensor *x, tensor *params, const ssm2d_s4nd_config *config, int first,
                 int rows, int cols);
tensor *mix_ema(graph *g, tensor *x, tensor *params, const ssm2d_ema_config *config, int first,
                int rows, int cols);

tensor *add(graph *g, tensor *a, tensor *b);       /* a + b, same shape */
tensor *gate(graph *g, tensor *a, tensor *b);      /* a * b, same shape */
tensor *silu_gate(graph *g, tensor *a, tensor *b); /* a * silu(b), same shape */
/* x + sigmoid(u) * (silu(h + p) - x), same shape */
tensor *gated_update(graph *g, tensor *x, tensor *u, tensor *h, tensor *p);
tensor *contiguous(graph *g, tensor *x); /* a copy when x is a view, else x */
tensor *scale(graph *g, tensor *x, double factor);
tensor *gelu(graph *g, tensor *x); /* x * Phi(x), by erf */
tensor *silu(graph *g, tensor *x);
tensor *sigmoid(graph *g, tensor *x);
tensor *softmax(graph *g, tensor *x); /* over the last axis */

/* Training only (elsewhere they return x): each number, or each image's whole branch, is zero with
 * probability rate and divided by 1 - rate otherwise. */
tensor *dropout(graph *g, tensor *x, double rate);
tensor *drop_path(graph *g, tensor *x, double rate);

/* Losses: [1]. Targets have the shape of x, must be an input of the graph, and get no gradient. */

/* Mean over the batch of -sum_c t_c * log softmax(x)_c.  x, targets: [B][classes]; the targets of
 * an image sum to one. */
tensor *cross_entropy(graph *g, tensor *x, tensor *targets);
/* Mean over all numbers of the binary cross-entropy of sigmoid(x). */
tensor *bce(graph *g, tensor *x, tensor *targets);

#endif
