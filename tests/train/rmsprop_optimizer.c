/* rmsprop - a fourth optimiser, as a newcomer would add it: gradients are divided by the root of a
 * moving average of their squares.
 *
 *     v = b2*v + (1-b2)*g*g,   w = w - lr*decay*w - lr*g/(sqrt(v) + eps) */
#include "optim/optimizer.h"

#include <math.h>

static void update(const optimizer_step *s, const param_span *span, size_t first, size_t count)
{
    const optimizer_settings *o = &s->settings;
    float *restrict w = s->weights + first, *restrict v = s->arrays[0] + first;
    const float *restrict g = s->gradients + first;
    const float rate = (float)(span->lr * s->lr), beta = (float)o->beta2, eps = (float)o->eps;
    const float keep = span->decay ? (float)(1 - span->lr * (s->lr * o->decay)) : 1;
    for (size_t i = 0; i < count; i++) {
        const float x = (float)s->factor * g[i];
        v[i] = beta * v[i] + (1 - beta) * x * x;
        w[i] = keep * w[i] - rate * x / (sqrtf(v[i]) + eps);
    }
}

const optimizer optimizer_rmsprop = {.name = "rmsprop", .arrays = {"square"}, .update = update};
