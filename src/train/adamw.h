/* adamw - AdamW on flat arrays of parameters, and what goes with it: the gradient's norm, and the
 * average of weights.
 *
 *     m = b1*m + (1-b1)*g,   v = b2*v + (1-b2)*g^2,
 *     w = w - lr*decay*w - lr * (m/(1-b1^t)) / (sqrt(v/(1-b2^t)) + eps)
 *
 * Arrays are cut into pieces of a fixed size, whatever the number of threads, so that results do
 * not depend on it. */
#ifndef SSM2D_TRAIN_ADAMW_H
#define SSM2D_TRAIN_ADAMW_H

#include "core/context.h"

#include <stddef.h>

typedef struct adamw {
    double beta1, beta2, eps;
    double decay;
} adamw;

/* A stretch of the flat array whose numbers are treated alike. A list of them is in order and
 * covers the array. */
typedef struct param_span {
    size_t offset, count;
    int decay; /* whether weight decay acts on it */
    double lr; /* its learning rate, as a multiple of the common one */
} param_span;

/* One update, the t-th (from 1); every gradient is multiplied by `factor` first. */
void adamw_update(const ssm2d_context *context, const adamw *how, double lr, long t, double factor,
                  size_t count, const param_span *spans, size_t span_count, float *weights,
                  const float *grads, float *moment1, float *moment2);

/* The square root of the sum of squares, in double and in fixed order; not finite exactly when a
 * gradient is not. partial: norm_pieces(count) numbers. */
size_t norm_pieces(size_t count);
double gradient_norm(const ssm2d_context *context, size_t count, const float *grads,
                     double *partial);

/* average = keep*average + (1-keep)*weights */
void average_update(const ssm2d_context *context, double keep, size_t count, const float *weights,
                    float *average);

#endif
