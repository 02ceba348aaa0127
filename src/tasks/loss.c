#include "tasks/loss.h"

#include "ops/ops.h"
#include "tasks/task.h"

#include <math.h>

/* log(sum(exp(x))), without overflow. */
static double log_sum(const float *x, int count)
{
    double top = (double)x[largest_index(x, count)], sum = 0;
    for (int i = 0; i < count; i++) sum += exp((double)x[i] - top);
    return top + log(sum);
}

/* target: one-hot. */
static double cross_entropy_of(const float *out, const float *target, const task_shape *shape)
{
    return log_sum(out, shape->outputs) - (double)out[largest_index(target, shape->outputs)];
}

static void softmax_of(const float *out, const task_shape *shape, double *values)
{
    const int count = shape->outputs;
    /* relative to the largest logit, for accuracy when logits are large */
    const double largest = (double)out[largest_index(out, count)];
    double sum = 0;
    for (int i = 0; i < count; i++) sum += values[i] = exp((double)out[i] - largest);
    for (int i = 0; i < count; i++) values[i] /= sum;
}

static double bce_of(const float *out, const float *target, const task_shape *shape)
{
    const int count = shape->outputs;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const double x = (double)out[i];
        sum += (x > 0 ? x : 0) - (double)target[i] * x + log1p(exp(-fabs(x)));
    }
    return sum / count;
}

static void sigmoid_of(const float *out, const task_shape *shape, double *values)
{
    for (int i = 0; i < shape->outputs; i++) values[i] = 1 / (1 + exp(-(double)out[i]));
}

const char *const loss_names[] = {
    [LOSS_CROSS_ENTROPY] = "cross-entropy", [LOSS_BCE] = "bce", [LOSS_KINDS] = NULL};

static const loss_function functions[] = {
    [LOSS_CROSS_ENTROPY] = {"cross-entropy", "softmax", cross_entropy, cross_entropy_of,
                            softmax_of},
    [LOSS_BCE] = {"bce", "sigmoid", bce, bce_of, sigmoid_of},
};

const loss_function *loss_at(loss_kind kind) { return &functions[kind]; }
