/* sgd - stochastic gradient descent with momentum, as in PyTorch: weight decay is part of the
 * gradient; optionally with Nesterov momentum.
 *
 *     g = g + decay*w
 *     b = momentum*b + g
 *     w = w - lr*b,   or with nesterov   w = w - lr*(g + momentum*b) */
#include "optim/optimizer.h"

static void update(const optimizer_step *s, const param_span *span, size_t first, size_t count)
{
    const optimizer_settings *o = &s->settings;
    float *restrict w = s->weights + first, *restrict b = s->arrays[0] + first;
    const float *restrict g = s->gradients + first;
    const float factor = (float)s->factor, momentum = (float)o->momentum;
    const float decay = span->decay ? (float)o->decay : 0;
    const float rate = (float)(span->lr * s->lr);
    for (size_t i = 0; i < count; i++) {
        const float x = factor * g[i] + decay * w[i];
        const float a = momentum * b[i] + x;
        b[i] = a;
        w[i] -= rate * (o->nesterov ? x + momentum * a : a);
    }
}

const optimizer optimizer_sgd = {.name = "sgd", .arrays = {"momentum"}, .update = update};
