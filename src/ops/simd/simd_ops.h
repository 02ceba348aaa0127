/* simd_ops - the table of SIMD bodies that operators use, for one instruction set and one number
 * type.
 *
 * It is apart from simd/simd_table.h because the layer library needs none of it (nor libmvec).
 * Results come first. `adds`: the gradient is added to instead of overwritten. */
#ifndef SSM2D_OPS_SIMD_OPS_H
#define SSM2D_OPS_SIMD_OPS_H

#include "core/cpu.h"
#include "core/real.h"

#include <stddef.h>

/* One head of one image: y = f(scale * q k^T + bias + mask) v, f being softmax over the keys, or
 * the Laplace attention function of each score by itself. q and k are [tokens][width], v and out
 * [tokens][v_width]; tokens are q_row, k_row, v_row and out_row numbers apart. A gradient is laid
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

    real *scratch; /* attend_scratch_size numbers, aligned to 64 bytes */
} attend_args;

/* The same with softmax for few tokens, as many as fit the first cache with all their scores. Token
 * t is row order[t] of q, k, v and out, and none where that is negative: zeros are read and nothing
 * is written. bias, mask and dbias are [tokens][attend_window_row(tokens)], by key and then query.
 */
typedef struct attend_window_args {
    size_t tokens, width, v_width;
    size_t q_row, k_row, v_row, out_row;
    const int *order; /* [tokens]; NULL: 0, 1, .. */
    real scale;
    const real *q, *k, *v;
    real *out;
    const real *bias, *mask; /* each may be NULL */
    real *lse;               /* [attend_window_row(tokens)], as in attend_args */

    const real *dout;
    real *dq, *dk, *dv; /* each may be NULL */
    int dq_adds, dk_adds, dv_adds;
    real *dbias; /* added to; may be NULL */

    real *scratch; /* attend_window_scratch_size numbers, aligned to 64 bytes */
} attend_window_args;

/* y (+)= x W + b, W being packed. x: [m][k], W: [k][n], y: [m][n]; rows of x and y are x_row and
 * y_row numbers apart. */
typedef struct gemm_packed_args {
    size_t m, n, k, x_row, y_row;
    const real *x, *packed, *bias; /* bias may be NULL */
    real *y;
    int adds;
} gemm_packed_args;

/* Packs W, whose rows and columns are so many numbers apart. */
typedef struct gemm_pack_args {
    size_t n, k;
    const real *weights;
    size_t row, column;
    real *packed; /* gemm_packed_size(n, k) numbers */
} gemm_pack_args;

/* dW (+)= dy^T x, db (+)= the sum of the rows of dy. x: [m][k] with x_row numbers from row to row,
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

/* Backward of y = a * silu(b); da and db may be NULL. */
typedef struct silu_gate_args {
    const real *a, *b, *dy;
    real *da, *db;
    int adds[2];
} silu_gate_args;

/* y = x + sigmoid(u) (silu(h + p) - x), and back; each gradient may be NULL. */
typedef struct gated_update_args {
    const real *x, *u, *h, *p, *dy;
    real *y, *dx, *du, *dh, *dp;
    int adds[4];
} gated_update_args;

typedef struct simd_ops {
    void (*gelu)(real *y, const real *x, size_t n);
    void (*gelu_back)(real *dx, const real *dy, const real *x, size_t n, int adds);
    void (*silu)(real *y, const real *x, size_t n);
    void (*silu_back)(real *dx, const real *dy, const real *x, size_t n, int adds);
    void (*sigmoid)(real *y, const real *x, size_t n);
    void (*sigmoid_back)(real *dx, const real *dy, const real *y, size_t n, int adds);
    void (*silu_gate)(real *y, const real *a, const real *b, size_t n);
    void (*silu_gate_back)(const silu_gate_args *g, size_t n);
    void (*gated_update)(const gated_update_args *g, size_t n);
    void (*gated_update_back)(const gated_update_args *g, size_t n);
    void (*softmax)(real *y, const real *x, size_t n); /* one row */
    void (*softmax_back)(real *dx, const real *dy, const real *y, size_t n, int adds);
    /* One row; stats (unless NULL) gets mean and 1/sqrt(variance + eps). */
    void (*norm)(real *y, real *stats, const real *x, const real *gamma, const real *beta, size_t n,
                 real eps);
    /* One row; dx may be NULL; dgamma and dbeta are added to. */
    void (*norm_back)(real *dx, real *dgamma, real *dbeta, const real *dy, const real *x,
                      const real *stats, const real *gamma, size_t n, int adds);
    size_t (*attend_scratch_size)(size_t tokens, size_t width, size_t v_width, int back);
    void (*attend)(const attend_args *a);
    void (*attend_back)(const attend_args *a);
    size_t (*attend_window_row)(size_t tokens); /* tokens, rounded up */
    size_t (*attend_window_scratch_size)(size_t tokens, size_t width, size_t v_width, int back);
    void (*attend_window)(const attend_window_args *a);
    void (*attend_window_back)(const attend_window_args *a);
    size_t panel; /* columns of y that are computed together */
    size_t (*gemm_packed_size)(size_t n, size_t k);
    /* For columns [first, end) of y; first is a multiple of panel, end too unless it is n. */
    void (*gemm_pack)(const gemm_pack_args *p, size_t first, size_t end);
    void (*gemm_packed)(const gemm_packed_args *p, size_t first, size_t end);
    /* Parts of dW begin at multiples of tn_rows and panel. A part takes time in proportion to
     * (rows + x) * (columns + dy) - x * dy, x and dy being what gemm_tn_costs gives. */
    size_t tn_rows, tn_depth; /* tn_depth: the largest that depth may be */
    void (*gemm_tn_costs)(size_t *x, size_t *dy);
    size_t (*gemm_tn_scratch_size)(size_t columns);
    void (*gemm_tn)(const gemm_tn_args *p, const gemm_tn_part *part, real *scratch);
} simd_ops;

const simd_ops *simd_ops_for(cpu_level level);

#endif
