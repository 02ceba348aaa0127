/* simd_ops - the table of SIMD bodies that operators use, for one instruction set and one element
 * type.
 *
 * It is apart from simd/simd_table.h because the layer library needs none of it (nor libmvec).
 * Results come first. `adds`: the gradient is added to instead of overwritten. */
#ifndef SSM2D_OPS_SIMD_OPS_H
#define SSM2D_OPS_SIMD_OPS_H

#include "core/cpu.h"
#include "core/element_type.h"

#include <stddef.h>

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

    real *scratch; /* attend_window_scratch_size elements, aligned to 64 bytes */
} attend_window_args;

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
#define BODY(result, name, parameters) result(*name) parameters;
#define VALUE(name, value)             size_t name;
#include "ops/simd/simd_ops.def"
#undef BODY
#undef VALUE
} simd_ops;

const simd_ops *simd_ops_for(cpu_level level);

#endif
