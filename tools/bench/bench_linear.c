/* bench_linear - the Linear layer that the 2-D SSM layer is measured against: oneDNN's sgemm, one
 * call per block of tokens, each on one thread, from the context's own threads.
 *
 * That is the fastest way to use oneDNN (2.6) here. Measured on 2 cores with AVX2, gigaflops
 * forward / forward and backward:
 *
 *     tokens x channels                      8192 x 192   6272 x 192   32768 x 96   25088 x 96
 *     sgemm, its own OpenMP threads          156 / 154    178 / 177    149 / 145    143 / 138
 *     inner_product, weights in its layout   177 / 171    189 / 180    173 / 157    158 / 145
 *     matmul, weights in its layout          174 / 171    188 / 182    156 / 145    154 / 143
 *     sgemm on blocks, as here               176 / 175    181 / 175    167 / 173    157 / 168
 *
 * dx and dW of a block follow each other, so that dy is read from memory once; dW is summed per
 * thread. */
#include "bench.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "train/onednn.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

enum { BLOCK = 512 }; /* tokens, about */

struct bench_linear {
    ssm2d_context *context;
    size_t tokens, channels, blocks;
    const float *x, *dy;
    float *w, *y, *dx, *dw; /* dw: one per thread; their sum ends up in the first */
    /* omp_set_num_threads, when oneDNN was built with OpenMP; it acts on the calling thread only */
    void (*limit_threads)(int);
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
    dnnl_dim_t rows = (dnnl_dim_t)n, width = (dnnl_dim_t)h;
    (void)worker;
    if (l->limit_threads) l->limit_threads(1);
    dnnl_sgemm('N', 'T', rows, width, width, 1, l->x + first * h, width, l->w, width, 0,
               l->y + first * h, width);
}

static void backward_block(void *arg, size_t task, int worker)
{
    const bench_linear *l = arg;
    size_t first, n = block(l, task, &first), h = l->channels;
    dnnl_dim_t rows = (dnnl_dim_t)n, width = (dnnl_dim_t)h;
    const float *dy = l->dy + first * h;
    if (l->limit_threads) l->limit_threads(1);
    dnnl_sgemm('N', 'N', rows, width, width, 1, dy, width, l->w, width, 0, l->dx + first * h,
               width);
    dnnl_sgemm('T', 'N', width, width, rows, 1, dy, width, l->x + first * h, width, 1,
               l->dw + (size_t)worker * h * h, width);
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
    size_t threads = (size_t)ssm2d_context_threads(context), size = channels * channels;
    bench_linear *l = mem_alloc(context, sizeof *l);
    if (l) {
        *l = (bench_linear){
            .context = context, .tokens = tokens, .channels = channels, .x = x, .dy = dy};
        /* a multiple of the number of threads, so that all threads end at the same time */
        l->blocks = threads * div_up_size(tokens, threads * BLOCK);
        l->w = mem_alloc(context, size * sizeof *l->w);
        l->y = mem_alloc(context, tokens * channels * sizeof *l->y);
        l->dx = mem_alloc(context, tokens * channels * sizeof *l->dx);
        l->dw = mem_alloc(context, threads * size * sizeof *l->dw);
    }
    if (!l || !l->w || !l->y || !l->dx || !l->dw) {
        bench_linear_destroy(l);
        return fail_memory(error, "Linear of %zu tokens and %zu channels", tokens, channels);
    }
    const ssm2d_status status = onednn_start(context, error);
    if (status) {
        bench_linear_destroy(l);
        return status;
    }
    for (size_t i = 0; i < size; i++) l->w[i] = (float)(i % 13) / 13 - 0.5f;
    *(void **)&l->limit_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *linear = l;
    return SSM2D_OK;
}
