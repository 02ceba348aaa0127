#include "train/adamw.h"

#include "core/arith.h"

#include <math.h>
#include <string.h>

enum { PIECE = 1 << 14 };

static size_t end_of(size_t piece, size_t count) { return min_size((piece + 1) * PIECE, count); }

size_t norm_pieces(size_t count) { return div_up_size(count, PIECE); }

/* ---- update ---------------------------------------------------------------------------------- */

typedef struct update {
    size_t count, span_count;
    const param_span *spans;
    float *weights, *moment1, *moment2;
    const float *grads;
    float factor, beta1, beta2, rest1, rest2, eps; /* rest = 1 - beta */
    double rate;                                   /* lr / (1-b1^t) */
    double shrink;                                 /* lr*decay */
    float unbias;                                  /* 1 / sqrt(1-b2^t) */
} update;

static void run_span(const update *u, size_t first, size_t count, float rate, float keep)
{
    float *restrict w = u->weights + first, *restrict m = u->moment1 + first,
                    *restrict v = u->moment2 + first;
    const float *restrict g = u->grads + first;
    const float factor = u->factor, beta1 = u->beta1, beta2 = u->beta2, rest1 = u->rest1,
                rest2 = u->rest2, eps = u->eps;
    const float unbias = u->unbias;
    for (size_t i = 0; i < count; i++) {
        float x = factor * g[i];
        float a = beta1 * m[i] + rest1 * x, b = beta2 * v[i] + rest2 * x * x;
        m[i] = a;
        v[i] = b;
        w[i] = keep * w[i] - rate * a / (unbias * sqrtf(b) + eps);
    }
}

static void update_piece(void *arg, size_t piece, int worker)
{
    const update *u = arg;
    const size_t first = piece * PIECE, end = end_of(piece, u->count);
    (void)worker;
    for (size_t i = 0; i < u->span_count; i++) {
        const param_span *s = &u->spans[i];
        const size_t from = max_size(s->offset, first), to = min_size(s->offset + s->count, end);
        if (from < to)
            run_span(u, from, to - from, (float)(s->lr * u->rate),
                     s->decay ? (float)(1 - s->lr * u->shrink) : 1);
    }
}

void adamw_update(const ssm2d_context *context, const adamw *how, double lr, long t, double factor,
                  size_t count, const param_span *spans, size_t span_count, float *weights,
                  const float *grads, float *moment1, float *moment2)
{
    update u = {.count = count,
                .span_count = span_count,
                .spans = spans,
                .weights = weights,
                .moment1 = moment1,
                .moment2 = moment2,
                .grads = grads,
                .factor = (float)factor,
                .beta1 = (float)how->beta1,
                .beta2 = (float)how->beta2,
                .rest1 = (float)(1 - how->beta1),
                .rest2 = (float)(1 - how->beta2),
                .eps = (float)how->eps,
                .rate = lr / (1 - pow(how->beta1, (double)t)),
                .shrink = lr * how->decay,
                .unbias = (float)(1 / sqrt(1 - pow(how->beta2, (double)t)))};
    pool_run(context->pool, norm_pieces(count), update_piece, &u);
}

/* ---- norm ------------------------------------------------------------------------------------ */

typedef struct squares {
    size_t count;
    const float *grads;
    double *partial;
} squares;

/* Sums the squares of one piece in eight partial sums, which the compiler may keep in vectors
 * without changing the order of additions. */
static void square_piece(void *arg, size_t piece, int worker)
{
    const squares *s = arg;
    const size_t end = end_of(piece, s->count);
    const float *restrict g = s->grads;
    double sums[8] = {0};
    size_t i = piece * PIECE;
    (void)worker;
    for (; i + 8 <= end; i += 8)
        for (size_t k = 0; k < 8; k++) sums[k] += (double)g[i + k] * (double)g[i + k];
    for (; i < end; i++) sums[0] += (double)g[i] * (double)g[i];
    s->partial[piece] =
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double gradient_norm(const ssm2d_context *context, size_t count, const float *grads,
                     double *partial)
{
    squares s = {count, grads, partial};
    double sum = 0;
    pool_run(context->pool, norm_pieces(count), square_piece, &s);
    for (size_t i = 0; i < norm_pieces(count); i++) sum += partial[i];
    return sqrt(sum);
}

/* ---- clearing -------------------------------------------------------------------------------- */

typedef struct clearing {
    size_t count;
    float *grads;
} clearing;

static void clear_piece(void *arg, size_t piece, int worker)
{
    const clearing *c = arg;
    const size_t first = piece * PIECE;
    (void)worker;
    memset(c->grads + first, 0, (end_of(piece, c->count) - first) * sizeof *c->grads);
}

void gradient_clear(const ssm2d_context *context, size_t count, float *grads)
{
    clearing c = {count, grads};
    pool_run(context->pool, norm_pieces(count), clear_piece, &c);
}

/* ---- average --------------------------------------------------------------------------------- */

typedef struct averaging {
    size_t count;
    const float *weights;
    float *average;
    float rest; /* 1 - keep */
} averaging;

static void average_piece(void *arg, size_t piece, int worker)
{
    const averaging *a = arg;
    const size_t end = end_of(piece, a->count);
    const float *restrict w = a->weights;
    float *restrict e = a->average;
    const float rest = a->rest;
    (void)worker;
    for (size_t i = piece * PIECE; i < end; i++) e[i] += rest * (w[i] - e[i]);
}

void average_update(const ssm2d_context *context, double keep, size_t count, const float *weights,
                    float *average)
{
    averaging a = {count, weights, average, (float)(1 - keep)};
    pool_run(context->pool, norm_pieces(count), average_piece, &a);
}
