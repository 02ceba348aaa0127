#include "train/onednn.h"

#include "core/context.h"
#include "core/status.h"
#include "train/onednn_guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

/* ---- products -------------------------------------------------------------------------------- */

/* The pool provides the threads. If oneDNN is built with OpenMP, a call must not start more, so
 * each thread sets OpenMP's thread count to 1 for its calls and restores it afterwards. */
static void (*set_threads)(int);
static int (*get_threads)(void);

static void find_openmp(void)
{
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
}

/* Some of oneDNN's code moves the stack pointer into a small block of the heap. The frame of a
 * signal handler would overwrite what lies below that block, so handlers wait for the end of the
 * product, but for those of errors in the program. */
static void block_signals(sigset_t *before)
{
    static const int errors[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) sigdelset(&others, errors[i]);
    pthread_sigmask(SIG_BLOCK, &others, before);
}

int onednn_sgemm(const sgemm_args *p)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_openmp);
    const onednn_product product = {.transa = p->a_transposed ? 'T' : 'N',
                                    .transb = p->b_transposed ? 'T' : 'N',
                                    .m = (dnnl_dim_t)p->m,
                                    .n = (dnnl_dim_t)p->n,
                                    .k = (dnnl_dim_t)p->k,
                                    .a = p->a,
                                    .lda = (dnnl_dim_t)p->a_row,
                                    .b = p->b,
                                    .ldb = (dnnl_dim_t)p->b_row,
                                    .beta = p->adds ? 1 : 0,
                                    .c = p->c,
                                    .ldc = (dnnl_dim_t)p->c_row};
    const int before = set_threads && get_threads ? get_threads() : 1;
    if (before != 1) set_threads(1);
    sigset_t mask;
    block_signals(&mask);
    const int done = onednn_guarded_sgemm(&product);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (before != 1) set_threads(before);
    return done;
}

/* ---- compilation ----------------------------------------------------------------------------- */

/* The code for all kinds of products took 18 MB with oneDNN 2.6 and AVX-512, 10 MB with AVX2. */
enum { CODE_BYTES = 32 << 20 };

/* Whether this much memory is available now. Not tested with malloc: freeing a block of this size
 * raises glibc's threshold for mapping blocks, so that later ones would come from the heap. */
static int has_memory(size_t bytes)
{
    void *trial = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED) return 0;
    munmap(trial, bytes);
    return 1;
}

/* Computes products of zeros of every kind for which oneDNN compiles separate code: matrices that
 * it copies and small ones that it does not, few columns, single rows and columns. */
static int compile(const ssm2d_context *context)
{
    static const size_t sides[][3] = {{8, 8, 8},   {64, 64, 64},  {1, 64, 64},    {64, 1, 64},
                                      {64, 4, 64}, {4, 300, 300}, {192, 384, 384}};
    enum { SHAPES = sizeof sides / sizeof *sides, MAX = 384 * 384 };
    float *zeros = mem_alloc(context, MAX * sizeof *zeros);
    int done = zeros != NULL;
    for (int i = 0; i < SHAPES * 8 && done; i++) {
        const size_t *side = sides[i / 8];
        sgemm_args p = {.a_transposed = i & 1,
                        .b_transposed = i >> 1 & 1,
                        .m = side[0],
                        .n = side[1],
                        .k = side[2],
                        .a = zeros,
                        .b = zeros,
                        .c = zeros,
                        .c_row = side[1],
                        .adds = i >> 2 & 1};
        p.a_row = p.a_transposed ? p.m : p.k;
        p.b_row = p.b_transposed ? p.k : p.n;
        done = onednn_sgemm(&p);
    }
    mem_free(context, zeros);
    return done;
}

typedef enum start_state { START_NOT_YET, START_DONE, START_FAILED } start_state;

ssm2d_status onednn_start(const ssm2d_context *context, ssm2d_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static start_state state;
    pthread_mutex_lock(&lock);
    /* after a failed compilation oneDNN crashes later, so there is no second attempt */
    if (state == START_NOT_YET && has_memory(CODE_BYTES)) {
        if (context->cpu == CPU_BASELINE) dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
        if (context->cpu == CPU_AVX2) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
        state = compile(context) ? START_DONE : START_FAILED;
    }
    const int done = state == START_DONE;
    pthread_mutex_unlock(&lock);
    return done ? SSM2D_OK
                : fail_memory(error, "oneDNN needs %d MB to compile its matrix products",
                              CODE_BYTES >> 20);
}

ssm2d_status onednn_use(graph *g, ssm2d_error *error)
{
    ssm2d_status status = onednn_start(g->context, error);
    if (!status) g->sgemm = onednn_sgemm;
    return status;
}
