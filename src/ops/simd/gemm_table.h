/* gemm_table - matrix products by our own code, and attention, which consists of them: a table of
 * functions for one instruction set and one type of the factors.
 *
 * Matrices in memory are real. The factors are those elements, or bfloat16 that they are rounded to
 * on the way; sums are real either way. Sizes of scratch and of packed weights count reals. */
#ifndef SSM2D_OPS_SIMD_GEMM_TABLE_H
#define SSM2D_OPS_SIMD_GEMM_TABLE_H

#include "core/cpu.h"
#include "core/element_type.h"

#include <stddef.h>

/* y (+)= x W + b, W being packed. x: [m][k], W: [k][n], y: [m][n]; rows of x and y are x_row and
 * y_row elements apart. */
typedef struct gemm_packed_args {
    size_t m, n, k, x_row, y_row;
    const real *x;
    const void *packed; /* by gemm_pack */
    const real *bias;   /* may be NULL */
    real *y;
    int adds;
} gemm_packed_args;

/* Packs W, whose rows and columns are so many elements apart. */
typedef struct gemm_pack_args {
    size_t n, k;
    const real *weights;
    size_t row, column;
    void *packed; /* of the size of gemm_packed_size(n, k) reals */
} gemm_pack_args;

/* dW (+)= dy^T x, db (+)= the sum of the rows of dy. x: [m][k] with x_row elements from row to row,
 * dy: [m][n], dW: [n][k]; dW and db may be NULL. Done for `depth` rows at a time, on which the last
 * bits depend. */
typedef struct gemm_tn_args {
    size_t m, n, k, x_row, depth;
    size_t after; /* rows of x and dy that follow, and are fetched for the next call */
    const real *x, *dy;
    real *dw, *db;
    int adds;
} gemm_tn_args;

/* Rows [first, end) and columns [left, right) of dW. The parts with left = 0 sum up db. */
typedef struct gemm_tn_part {
    size_t first, end, left, right;
} gemm_tn_part;

/* One head of one image: y = f(scale * q k^T + bias + mask) v, f being softmax over the keys, or
 * the Laplace attention function of each score by itself. q and k are [tokens][width], v and out
 * [tokens][v_width]; tokens are q_row, k_row, v_row and out_row elements apart. A gradient is laid
 * out like what it belongs to. */
typedef struct attend_args {
    size_t tokens, width, v_width;
    size_t q_row, k_row, v_row, out_row;
    real scale;
    int laplace;
    size_t first, end; /* the queries to answer; backward always does all */
    const real *q, *k, *v;
    real *out;

    /* The bias of query i: bias[i * bias_row + key]; or, where `position` is given,
     * bias[center + position[i] - position[key]]. bias may be NULL. */
    const real *bias;
    ptrdiff_t bias_row;
    const int *position;
    int center;
    const real *mask; /* [tokens][tokens], or NULL */

    /* [tokens], log of the sum of exponentials of a row of scores: softmax gives it in forward
     * unless it is NULL, and needs it in backward */
    real *lse;
    const real *dout;
    real *dq, *dk, *dv; /* each may be NULL */
    int dq_adds, dk_adds, dv_adds;
    real *dbias; /* laid out like bias, added to; may be NULL */

    real *scratch; /* attend_scratch_size elements, aligned to 64 bytes */
} attend_args;

/* The same with softmax for few tokens, as many as fit the first cache with all their scores. Token
 * t is row order[t] of q, k, v and out, and none where that is negative: zeros are read and nothing
 * is written. bias, mask and dbias are [tokens][row(tokens)], by key and then query. */
typedef struct attend_window_args {
    size_t tokens, width, v_width;
    size_t q_row, k_row, v_row, out_row;
    const int *order; /* [tokens]; NULL: 0, 1, .. */
    real scale;
    const real *q, *k, *v;
    real *out;
    const real *bias, *mask; /* each may be NULL */
    real *lse;               /* [row(tokens)], as in attend_args */

    const real *dout;
    real *dq, *dk, *dv; /* each may be NULL */
    int dq_adds, dk_adds, dv_adds;
    real *dbias; /* added to; may be NULL */

    real *scratch; /* scratch_size elements, aligned to 64 bytes */
} attend_window_args;

typedef struct attend_window_table {
    size_t (*row)(size_t tokens); /* the tokens, rounded up */
    size_t (*scratch_size)(size_t tokens, size_t width, size_t v_width, int back);
    void (*forward)(const attend_window_args *a);
    void (*backward)(const attend_window_args *a);
} attend_window_table;

typedef struct gemm_table {
#define BODY(result, name, parameters) result(*name) parameters;
#define VALUE(name, value)             size_t name;
#include "ops/simd/gemm.def"
#undef BODY
#undef VALUE
    const attend_window_table *attend_window; /* NULL in tables for factors in bfloat16 */
} gemm_table;

/* For factors in float32. */
const gemm_table *gemm_for(cpu_level level);

/* For factors in bfloat16: the order in which their products are added, on which the bits of a
 * product depend. All machines have both, and a product has the same bits on all of them. */
typedef enum gemm_order {
    GEMM_PAIRS, /* that of AVX512-BF16's vdpbf16ps (gemm_pairs.h) */
    GEMM_TILES, /* that of AMX's tdpbf16ps (tiles_emulated.h) */
    GEMM_ORDERS
} gemm_order;

typedef struct gemm_body {
    const char *name;
    const gemm_table *table;
    int emulates; /* it does by other instructions what there is one for */
} gemm_body;

/* Lists the tables of an order that this machine has for an instruction set: the one that every
 * machine with it has first, then those with instructions made for the order. Which of them is
 * fastest has to be measured. Returns their count: 0 in the build for double, which has none. */
enum { GEMM_BODIES = 2 };
int gemm_bfloat16_bodies(cpu_level level, gemm_order order, gemm_body bodies[GEMM_BODIES]);

#endif
