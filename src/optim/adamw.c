/* adamw - AdamW (Loshchilov and Hutter):
 *
 *     m = b1*m + (1-b1)*g
 *     v = b2*v + (1-b2)*g^2
 *     w = w - lr*decay*w - lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps) */
#include "optim/optimizer.h"

#include <math.h>

enum { MOMENT1, MOMENT2 };

static void update(const optimizer_step *s, const param_span *span, size_t first, size_t count)
{
    const optimizer_settings *o = &s->settings;
    float *restrict w = s->weights + first, *restrict m = s->arrays[MOMENT1] + first,
                    *restrict v = s->arrays[MOMENT2] + first;
    const float *restrict g = s->gradients + first;
    const float factor = (float)s->factor, eps = (float)o->eps;
    const float beta1 = (float)o->beta1, rest1 = (float)(1 - o->beta1);
    const float beta2 = (float)o->beta2, rest2 = (float)(1 - o->beta2);
    const float rate = (float)(span->lr * (s->lr / (1 - pow(o->beta1, (double)s->t))));
    const float unbias = (float)(1 / sqrt(1 - pow(o->beta2, (double)s->t)));
    const float keep = span->decay ? (float)(1 - span->lr * (s->lr * o->decay)) : 1;
    for (size_t i = 0; i < count; i++) {
        const float x = factor * g[i];
        const float a = beta1 * m[i] + rest1 * x, b = beta2 * v[i] + rest2 * x * x;
        m[i] = a;
        v[i] = b;
        w[i] = keep * w[i] - rate * a / (unbias * sqrtf(b) + eps);
    }
}

const optimizer optimizer_adamw = {
    .name = "adamw", .arrays = {"moment1", "moment2"}, .update = update};
