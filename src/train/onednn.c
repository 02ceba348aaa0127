#include "train/onednn.h"

#include "core/context.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>

/* Threads are the pool's. Where oneDNN is built for OpenMP, a call must not start more: each thread
 * says so, for its own calls, and leaves what it had been told before. */
static void (*set_threads)(int);
static int (*get_threads)(void);

static void find_openmp(void)
{
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
}

int onednn_sgemm(const sgemm_args *p)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_openmp);
    const int before = set_threads && get_threads ? get_threads() : 1;
    if (before != 1) set_threads(1);
    const dnnl_status_t status =
        dnnl_sgemm(p->a_transposed ? 'T' : 'N', p->b_transposed ? 'T' : 'N', (dnnl_dim_t)p->m,
                   (dnnl_dim_t)p->n, (dnnl_dim_t)p->k, 1, p->a, (dnnl_dim_t)p->a_row, p->b,
                   (dnnl_dim_t)p->b_row, p->adds ? 1 : 0, p->c, (dnnl_dim_t)p->c_row);
    if (before != 1) set_threads(before);
    return status == dnnl_success;
}

void onednn_match_cpu(const ssm2d_context *context)
{
    if (context->cpu == CPU_BASELINE) dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
    if (context->cpu == CPU_AVX2) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
}

void onednn_use(graph *g)
{
    onednn_match_cpu(g->context);
    g->sgemm = onednn_sgemm;
}
