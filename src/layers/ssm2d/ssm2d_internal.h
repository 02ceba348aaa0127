/* ssm2d_internal - the pieces of the layer that are compiled for each number type, in the order a
 * forward pass uses them. */
#ifndef SSM2D_LAYERS_SSM2D_INTERNAL_H
#define SSM2D_LAYERS_SSM2D_INTERNAL_H

#include "core/real.h"
#include "conv/conv.h"
#include "layers/ssm2d/ssm2d_names.h"
#include "layers/ssm2d/ssm2d_plan.h"
#include "simd/simd_table.h"

/* system.c: raw parameters -> coef, c, centre, d, norm; and back: dcoef, dc, dcentre, dd -> dparams
 * (added to). */
void system_prepare(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *params);
/* the factor of the kernel's first row and column (norm `paper`: 2) */
double system_border(const ssm2d_kind_plan *plan);
void system_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *params,
                    real *dparams);

/* kernel.c: coef, c, centre -> the kernel of every row of C. Element (row c, i, j) goes to
 * base[place*c_step + i*i_step + j*j_step]; place is c, or what `place` makes of it: a row for
 * which that is negative is left out. */
typedef struct kernel_view {
    real *base;
    ptrdiff_t c_step, i_step, j_step;
    ptrdiff_t (*place)(const ssm2d_kind_plan *plan, int c); /* NULL: c itself */
} kernel_view;
void kernel_generate(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, kernel_view out);
/* The adjoint, into dcoef, dc, dcentre (overwritten). fetch gives row i of the gradient of the
 * kernel of row c. */
typedef void kernel_fetch(const ssm2d_kind_plan *plan, const real *source, int c, int i, real *row);
void kernel_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, kernel_fetch *fetch,
                    const real *source);
/* numbers of scratch per worker; sets state_block */
size_t kernel_states(ssm2d_kind_plan *plan, int inference);

/* directions.c: krows -> k2, all directions and D in one kernel; and dk2 -> ktable (as gradient)
 * and dd. */
void directions_reach(const ssm2d_kind_plan *plan, conv_reach reach[REACH_SIGNS]);
void directions_plan(ssm2d_kind_plan *plan);
void directions_prepare(const ssm2d_kind_plan *plan, ssm2d_workspace *ws);
void directions_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws);
kernel_fetch directions_fetch; /* reads the gradient in ktable */

/* output_norm.c: y = LayerNorm(z), and z, dy -> dz; adds dgamma, dbeta to dparams unless NULL. */
void output_norm_apply(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, real *y);
void output_norm_backward(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *dy,
                          real *dparams);
size_t output_norm_sums(const ssm2d_kind_plan *plan);

/* output_silu.c: y = SiLU(z), and z, dy -> dz. */
void output_silu_apply(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, real *y);
void output_silu_backward(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *dy);

#endif
