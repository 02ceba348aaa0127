/* gemm - matrix products on the caller's thread: C = A B + beta C, row by row in memory, either factor transposed. */
#ifndef SSM2D_OPS_GEMM_H
#define SSM2D_OPS_GEMM_H

#include "core/real.h"

#include <stddef.h>

typedef enum side { PLAIN, TRANSPOSED } side;

/* C: [m][n]; A: [m][k] (transposed: [k][m]), B: [k][n] (transposed: [n][k]); ld: numbers from row to row. beta is 0 or 1.
 * The same shapes give the same bits, whatever thread it runs on. */
void NAME(gemm)(side a_side, side b_side, size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                real beta, real *c, size_t ldc);

#endif
