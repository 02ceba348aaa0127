#include "models/quantized.h"

#include "core/context.h"

#include <math.h>

quantization *quantization_create(const weights *w, const uint8_t *chosen)
{
    size_t count = 0, outputs = 0;
    for (int i = 0; i < w->count; i++)
        if (chosen[i]) {
            count++;
            outputs += w->arrays[i].shape[0];
        }
    quantization *q = mem_alloc(w->context, sizeof *q + count * (sizeof *q->list + PARAM_NAME)
                                                + outputs * sizeof(float));
    if (!q) return NULL;
    q->list = (quantized_linear *)(q + 1);
    float *scales = (float *)(q->list + count);
    char *names = (char *)(scales + outputs);
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        if (!chosen[i]) continue;
        quantized_linear *l = &q->list[q->count++];
        memcpy(names, a->name, PARAM_NAME);
        *l = (quantized_linear){.weight = names, .outputs = a->shape[0], .weight_scales = scales};
        names += PARAM_NAME;
        scales += a->shape[0];
    }
    return q;
}

static float quantized(float x, float scale)
{
    const float q = scale > 0 ? nearbyintf(x / scale) : 0;
    return fminf(fmaxf(q, -127), 127);
}

static double squared_error(const float *w, size_t k, float scale)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        const double e = (double)(w[i] - scale * quantized(w[i], scale));
        sum += e * e;
    }
    return sum;
}

void quantization_scales(const float *w, size_t rows, size_t k, float *scales)
{
    enum { STEPS = 16 }; /* fractions from 1 down, in steps of 1/32 */
    for (size_t r = 0; r < rows; r++, w += k) {
        float top = 0;
        for (size_t i = 0; i < k; i++) top = fmaxf(top, fabsf(w[i]));
        double min_error = INFINITY;
        for (int step = 0; step < STEPS; step++) {
            const float scale = top * (1 - (float)step / 32) / 127;
            const double e = squared_error(w, k, scale);
            if (e >= min_error) continue;
            min_error = e;
            scales[r] = scale;
        }
    }
}

void quantize_weights(const float *w, size_t rows, size_t k, const float *scales, int8_t *q)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < k; i++) q[r * k + i] = (int8_t)quantized(w[r * k + i], scales[r]);
}
