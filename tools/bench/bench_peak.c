/* bench_peak - the machine's peak speed of matrix products, which a model's step is compared
 * with. */
#include "bench.h"

#include "core/context.h"
#include "core/status.h"
#include "train/onednn.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

/* Large enough to make the cost of packing negligible; a thread's three matrices take 7 MB. */
enum { SIDE = 768 };

struct bench_peak {
    ssm2d_context *context;
    size_t threads;
    float *a, *b, *c;           /* [threads][SIDE][SIDE] */
    void (*limit_threads)(int); /* as in bench_linear.c */
};

static void multiply(void *arg, size_t task, int worker)
{
    const bench_peak *p = arg;
    const size_t at = task * SIDE * SIDE;
    (void)worker;
    if (p->limit_threads) p->limit_threads(1);
    dnnl_sgemm('N', 'N', SIDE, SIDE, SIDE, 1, p->a + at, SIDE, p->b + at, SIDE, 0, p->c + at, SIDE);
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
    if (p) {
        *p = (bench_peak){.context = context, .threads = threads};
        p->a = mem_alloc(context, count * sizeof *p->a);
        p->b = mem_alloc(context, count * sizeof *p->b);
        p->c = mem_alloc(context, count * sizeof *p->c);
    }
    if (!p || !p->a || !p->b || !p->c) {
        bench_peak_destroy(p);
        return fail_memory(error, "products of %d x %d matrices", SIDE, SIDE);
    }
    for (size_t i = 0; i < count; i++) p->a[i] = p->b[i] = (float)(i % 13) / 13 - 0.5f;
    *(void **)&p->limit_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
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
