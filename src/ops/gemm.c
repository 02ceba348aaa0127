#include "ops/gemm.h"

#ifdef REAL_IS_FLOAT

#include <dnnl.h>

/* oneDNN would spread a product over OpenMP threads of its own; our tasks are spread already. */
extern void omp_set_num_threads(int threads);
static _Thread_local int single;

void NAME(gemm)(side a_side, side b_side, size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                real beta, real *c, size_t ldc)
{
    if (!single) {
        omp_set_num_threads(1);
        single = 1;
    }
    dnnl_sgemm(a_side == PLAIN ? 'N' : 'T', b_side == PLAIN ? 'N' : 'T', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k, 1, a,
               (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)ldc);
}

#else

/* Double is for checking gradients, not for speed. */
void NAME(gemm)(side a_side, side b_side, size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                real beta, real *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            real sum = 0;
            for (size_t l = 0; l < k; l++)
                sum +=
                    (a_side == PLAIN ? a[i * lda + l] : a[l * lda + i]) * (b_side == PLAIN ? b[l * ldb + j] : b[j * ldb + l]);
            c[i * ldc + j] = beta * (beta == 0 ? 0 : c[i * ldc + j]) + sum;
        }
}

#endif
