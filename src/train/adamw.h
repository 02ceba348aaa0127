/* adamw - AdamW on flat arrays of parameters, the norm of a gradient, and the exponential moving
 * average of weights.
 *
 *     m = b1*m + (1-b1)*g
 *     v = b2*v + (1-b2)*g^2
 *     w = w - lr*decay*w - lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)
 *
 * Work is divided into pieces of a fixed size, whatever the number of threads, so that results do
 * not depend on it. */
#ifndef SSM2D_TRAIN_ADAMW_H
#define SSM2D_TRAIN_ADAMW_H

#include "core/context.h"

#include <stddef.h>

typedef struct adamw {
    double beta1, beta2, eps;
    double decay;
} adamw;

/* A range of parameters with the same decay and learning rate. A list of spans is in order;
 * what is in none of them is not learned and stays as it is. */
typedef struct param_span {
    size_t offset, count;
    int decay; /* whether weight decay applies */
    double lr; /* its learning rate, as a multiple of the common one */
} param_span;

/* Makes step t, counted from 1: updates weights and both moments, [count] each. Gradients are
 * multiplied by `factor` first, as clipping needs. */
void adamw_update(const ssm2d_context *context, const adamw *how, double lr, long t, double factor,
                  size_t count, const param_span *spans, size_t span_count, float *weights,
                  const float *grads, float *moment1, float *moment2);

/* Returns the square root of the sum of squares, in double and in a fixed order; it is not finite
 * exactly when some gradient is not. partial: scratch of norm_pieces(count) numbers. */
size_t norm_pieces(size_t count);
double gradient_norm(const ssm2d_context *context, size_t count, const float *grads,
                     double *partial);

/* gradients = 0, in the same pieces as everything here */
void gradient_clear(const ssm2d_context *context, size_t count, float *grads);

/* average = keep*average + (1-keep)*weights */
void average_update(const ssm2d_context *context, double keep, size_t count, const float *weights,
                    float *average);

#endif
