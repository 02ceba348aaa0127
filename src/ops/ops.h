/* ops - the operators a model is built from. Each appends a node and returns its output (NULL after
 * an error).
 *
 * Adding one: a file with shape check, forward, backward and descriptor; its line in ops.def; its
 * declaration here; an example in tests/op_examples.c, from which it gets its gradient checks. */
#ifndef SSM2D_OPS_OPS_H
#define SSM2D_OPS_OPS_H

#include "graph/graph.h"

#define OP(name) extern const op op_##name;
#include "ops/ops.def"
#undef OP

/* y = x W^T + b.  x: [..][in], W: [out][in], b: [out] or NULL */
tensor *linear(graph *g, tensor *x, tensor *w, tensor *b);
/* y = (x - mean)/sqrt(var + eps) * gamma + beta over the last axis, biased variance */
tensor *layer_norm(graph *g, tensor *x, tensor *gamma, tensor *beta, double eps);
/* Multi-head attention over tokens. qkv: [B][T][3*D], row = which*D + head*(D/heads) + d; y:
 * [B][T][D], heads side by side; y = softmax(q k^T / sqrt(D/heads)) v */
tensor *attention(graph *g, tensor *qkv, int heads);
/* The patches of images, flattened as (channel, row, column). x: [B][C][R][S] (input), y:
 * [B][R/p*S/p][C*p*p] */
tensor *patches(graph *g, tensor *x, int patch);
/* y[b] = [cls; x[b]] + pos.  x: [B][T][D], cls: [1][1][D] or NULL, pos: [1][T+1 or T][D] or NULL */
tensor *embed(graph *g, tensor *x, tensor *cls, tensor *pos);
/* y[b] = x[b][t].  x: [B][T][D], y: [B][D] */
tensor *take_token(graph *g, tensor *x, int t);
/* y[b] = mean of x[b] over tokens */
tensor *mean_tokens(graph *g, tensor *x);
/* The 2-D SSM over tokens from `first` on (tokens before it pass unchanged), as a grid rows x cols
 * in raster order. params: the layer's flat parameters as one tensor [ssm2d_param_total]. x, y:
 * [B][first + rows*cols][H] */
tensor *mix_ssm2d(graph *g, tensor *x, tensor *params, const ssm2d_config *config, int first,
                  int rows, int cols);

tensor *add(graph *g, tensor *a, tensor *b);  /* a + b, same shape */
tensor *gate(graph *g, tensor *a, tensor *b); /* a * b, same shape */
tensor *contiguous(graph *g, tensor *x);      /* a copy when x is a view, else x */
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
