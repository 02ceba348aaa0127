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
