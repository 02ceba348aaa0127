#include "optim/flat.h"

#include <math.h>
#include <string.h>

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
    const size_t end = flat_piece_end(piece, s->count);
    const float *restrict g = s->grads;
    double sums[8] = {0};
    size_t i = flat_piece_start(piece);
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
    pool_run(context->pool, flat_pieces(count), square_piece, &s);
    for (size_t i = 0; i < flat_pieces(count); i++) sum += partial[i];
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
    const size_t first = flat_piece_start(piece);
    (void)worker;
    memset(c->grads + first, 0, (flat_piece_end(piece, c->count) - first) * sizeof *c->grads);
}

void gradient_clear(const ssm2d_context *context, size_t count, float *grads)
{
    clearing c = {count, grads};
    pool_run(context->pool, flat_pieces(count), clear_piece, &c);
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
    const size_t end = flat_piece_end(piece, a->count);
    const float *restrict w = a->weights;
    float *restrict e = a->average;
    const float rest = a->rest;
    (void)worker;
    for (size_t i = flat_piece_start(piece); i < end; i++) e[i] += rest * (w[i] - e[i]);
}

void average_update(const ssm2d_context *context, double keep, size_t count, const float *weights,
                    float *average)
{
    averaging a = {count, weights, average, (float)(1 - keep)};
    pool_run(context->pool, flat_pieces(count), average_piece, &a);
}
