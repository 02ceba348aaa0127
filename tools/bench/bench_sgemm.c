/* bench_sgemm - what the layer and models are measured against, computed by oneDNN's sgemm: a
 * Linear layer, and the machine's peak speed of matrix products.
 *
 * The Linear layer makes one call per block of tokens, each on one of the context's threads. That
 * is the fastest way to use oneDNN (2.6) here. Measured on 2 cores with AVX2, gigaflops forward /
 * forward and backward:
 *
 *     tokens x channels                      8192 x 192   6272 x 192   32768 x 96   25088 x 96
 *     sgemm, its own OpenMP threads          156 / 154    178 / 177    149 / 145    143 / 138
 *     inner_product, weights in its layout   177 / 171    189 / 180    173 / 157    158 / 145
 *     matmul, weights in its layout          174 / 171    188 / 182    156 / 145    154 / 143
 *     sgemm on blocks, as here               176 / 175    181 / 175    167 / 173    157 / 168
 *
 * dx and dW of a block are computed one after the other, so that dy is read from memory once; each
 * thread has its own sum of dW. */
#include "bench.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "train/onednn.h"

#include <string.h>

float *bench_array(ssm2d_context *context, size_t count)
{
    float *values = mem_alloc(context, count * sizeof *values);
    for (size_t i = 0; i < count && values; i++) values[i] = (float)(i % 13) / 13 - 0.5F;
    return values;
}

/* ---- a Linear layer -------------------------------------------------------------------------- */

enum { BLOCK = 512 }; /* tokens, about */

struct bench_linear {
    ssm2d_context *context;
    size_t tokens, channels, blocks;
    const float *x, *dy;
    float *w, *y, *dx, *dw; /* dw: one per thread; the sum ends up in the first */
};

/* Sets *first to the first token of a block, and returns how many tokens it has. */
static size_t block(const bench_linear *l, size_t task, size_t *first)
{
    *first = l->tokens * task / l->blocks;
    return l->tokens * (task + 1) / l->blocks - *first;
}

static void forward_block(void *arg, size_t task, int worker)
{
    const bench_linear *l = arg;
    size_t first, n = block(l, task, &first), h = l->channels;
    (void)worker;
    onednn_sgemm(
        &(sgemm_args){0, 1, n, h, h, l->x + first * h, l->w, l->y + first * h, h, h, h, 0});
}

static void backward_block(void *arg, size_t task, int worker)
{
    const bench_linear *l = arg;
    size_t first, n = block(l, task, &first), h = l->channels;
    const float *dy = l->dy + first * h;
    float *dw = l->dw + (size_t)worker * h * h;
    onednn_sgemm(&(sgemm_args){0, 0, n, h, h, dy, l->w, l->dx + first * h, h, h, h, 0});
    onednn_sgemm(&(sgemm_args){1, 0, h, h, n, dy, l->x + first * h, dw, h, h, h, 1});
}

void bench_linear_forward(void *linear)
{
    bench_linear *l = linear;
    pool_run(l->context->pool, l->blocks, forward_block, l);
}

void bench_linear_train(void *linear)
{
    bench_linear *l = linear;
    size_t size = l->channels * l->channels, threads = (size_t)pool_threads(l->context->pool);
    bench_linear_forward(l);
    memset(l->dw, 0, threads * size * sizeof *l->dw);
    pool_run(l->context->pool, l->blocks, backward_block, l);
    for (size_t t = 1; t < threads; t++)
        for (size_t i = 0; i < size; i++) l->dw[i] += l->dw[t * size + i];
}

void bench_linear_destroy(bench_linear *linear)
{
    if (!linear) return;
    ssm2d_context *context = linear->context;
    mem_free(context, linear->w);
    mem_free(context, linear->y);
    mem_free(context, linear->dx);
    mem_free(context, linear->dw);
    mem_free(context, linear);
}

ssm2d_status bench_linear_create(ssm2d_context *context, size_t tokens, size_t channels,
                                 const float *x, const float *dy, bench_linear **linear,
                                 ssm2d_error *error)
{
    const size_t threads = (size_t)ssm2d_context_threads(context), size = channels * channels;
    const ssm2d_status status = onednn_start(context, error);
    if (status) return status;
    bench_linear *l = mem_alloc(context, sizeof *l);
    if (l)
        *l = (bench_linear){.context = context,
                            .tokens = tokens,
                            .channels = channels,
                            /* a multiple of the threads, so that all end at the same time */
                            .blocks = threads * div_up_size(tokens, threads * BLOCK),
                            .x = x,
                            .dy = dy,
                            .w = bench_array(context, size),
                            .y = bench_array(context, tokens * channels),
                            .dx = bench_array(context, tokens * channels),
                            .dw = bench_array(context, threads * size)};
    if (!l || !l->w || !l->y || !l->dx || !l->dw) {
        bench_linear_destroy(l);
        return fail_memory(error, "Linear of %zu tokens and %zu channels", tokens, channels);
    }
    *linear = l;
    return SSM2D_OK;
}

/* ---- peak speed ------------------------------------------------------------------------------ */

/* Large enough to make the cost of packing negligible; a thread's three matrices take 7 MB. */
enum { SIDE = 768 };

struct bench_peak {
    ssm2d_context *context;
    size_t threads;
    float *a, *b, *c; /* [threads][SIDE][SIDE] */
};

static void multiply(void *arg, size_t task, int worker)
{
    const bench_peak *p = arg;
    const size_t at = task * SIDE * SIDE;
    (void)worker;
    onednn_sgemm(&(sgemm_args){0, 0, SIDE, SIDE, SIDE, p->a + at, p->b + at, p->c + at, SIDE, SIDE,
                               SIDE, 0});
}

void bench_peak_run(void *peak)
{
    bench_peak *p = peak;
    pool_run(p->context->pool, p->threads, multiply, p);
}

double bench_peak_products(const bench_peak *p) { return (double)p->threads * SIDE * SIDE * SIDE; }

ssm2d_status bench_peak_create(ssm2d_context *context, bench_peak **peak, ssm2d_error *error)
{
    const size_t threads = (size_t)ssm2d_context_threads(context), count = threads * SIDE * SIDE;
    const ssm2d_status status = onednn_start(context, error);
    if (status) return status;
    bench_peak *p = mem_alloc(context, sizeof *p);
    if (p)
        *p = (bench_peak){.context = context,
                          .threads = threads,
                          .a = bench_array(context, count),
                          .b = bench_array(context, count),
                          .c = bench_array(context, count)};
    if (!p || !p->a || !p->b || !p->c) {
        bench_peak_destroy(p);
        return fail_memory(error, "products of %d x %d matrices", SIDE, SIDE);
    }
    *peak = p;
    return SSM2D_OK;
}

void bench_peak_destroy(bench_peak *p)
{
    if (!p) return;
    ssm2d_context *context = p->context;
    mem_free(context, p->a);
    mem_free(context, p->b);
    mem_free(context, p->c);
    mem_free(context, p);
}
