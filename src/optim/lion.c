/* lion - Lion (Chen et al., 2023): steps of one size, in the direction of a sign.
 *
 *     w = w - lr*decay*w - lr*sign(b1*m + (1-b1)*g)
 *     m = b2*m + (1-b2)*g */
#include "optim/optimizer.h"

static void update(const optimizer_step *s, const param_span *span, size_t first, size_t count)
{
    const optimizer_settings *o = &s->settings;
    float *restrict w = s->weights + first, *restrict m = s->arrays[0] + first;
    const float *restrict g = s->gradients + first;
    const float factor = (float)s->factor;
    const float beta1 = (float)o->beta1, rest1 = (float)(1 - o->beta1);
    const float beta2 = (float)o->beta2, rest2 = (float)(1 - o->beta2);
    const float rate = (float)(span->lr * s->lr);
    const float keep = span->decay ? (float)(1 - span->lr * (s->lr * o->decay)) : 1;
    for (size_t i = 0; i < count; i++) {
        const float x = factor * g[i], c = beta1 * m[i] + rest1 * x;
        const float sign = (float)((c > 0) - (c < 0));
        m[i] = beta2 * m[i] + rest2 * x;
        w[i] = keep * w[i] - rate * sign;
    }
}

const optimizer optimizer_lion = {.name = "lion", .arrays = {"moment"}, .update = update};
