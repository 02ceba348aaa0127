/* gemm_int8_table - matrix products with 8-bit factors: a table of functions for one instruction
 * set. Sums of the products are exact, in int32, so that all tables give the same bits.
 *
 *     y = x W + b,  x about x_scale (q - zero), W = W_q w_scale (per column)
 *     y[i][j] = x_scale w_scale[j] sum_l (q[i][l] - zero) W_q[l][j] + b[j]
 *
 * x is real in memory, and quantised to q, 0 to 255, on its way into the product: to the nearest
 * integer, halves to the even one, saturating; NaN becomes 0. W_q is -127 to 127. The sum is
 * rounded to float, multiplied, rounded, and b is added. */
#ifndef SSM2D_OPS_SIMD_GEMM_INT8_TABLE_H
#define SSM2D_OPS_SIMD_GEMM_INT8_TABLE_H

#include "core/cpu.h"

#include <stddef.h>
#include <stdint.h>

/* More could overflow a sum. */
enum { GEMM_INT8_MAX_K = 65536 };

/* Quantises and packs W, and what belongs to its columns. */
typedef struct gemm_int8_pack_args {
    size_t n, k;
    const float *weights;       /* [n][k] */
    const float *scales, *bias; /* [n]: w_scale; b, or NULL */
    float x_scale;
    int zero;
    void *packed; /* `size` bytes, aligned to 64 */
} gemm_int8_pack_args;

/* x: [m][k], y: [m][n]; rows are x_row and y_row elements apart. */
typedef struct gemm_int8_args {
    size_t m, n, k, x_row, y_row;
    const float *x;
    float x_scale;
    int zero;
    const void *packed;
    float *y;
} gemm_int8_args;

typedef struct gemm_int8_table {
    const char *name; /* of the instructions */
    size_t panel;     /* columns of y that are computed together */
    size_t (*size)(size_t n, size_t k);
    /* For columns [first, end) of y; first is a multiple of panel, end too unless it is n. */
    void (*pack)(const gemm_int8_pack_args *p, size_t first, size_t end);
    void (*multiply)(const gemm_int8_args *p, size_t first, size_t end);
} gemm_int8_table;

/* The fastest table for this processor at this level. */
const gemm_int8_table *gemm_int8_for(cpu_level level);
/* The i-th of all tables that this processor can run; NULL past the last. For tests. */
const gemm_int8_table *gemm_int8_at(int i);

#endif
