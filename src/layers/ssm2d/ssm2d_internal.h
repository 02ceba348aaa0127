/* ssm2d_internal - the functions of the layer that are compiled for each number type, in the order
 * in which a forward pass calls them. */
#ifndef SSM2D_LAYERS_SSM2D_INTERNAL_H
#define SSM2D_LAYERS_SSM2D_INTERNAL_H

#include "core/real.h"
#include "conv/conv.h"
#include "layers/ssm2d/ssm2d_names.h"
#include "layers/ssm2d/ssm2d_plan.h"
#include "simd/simd_table.h"

/* system.c: computes coef, c, centre, d and norm from the raw parameters. The adjoint adds to
 * dparams, given dcoef, dc, dcentre and dd. */
void system_prepare(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *params);
/* Factor of the kernel's first row and column (norm `paper`: 2). */
double system_border(const ssm2d_kind_plan *plan);
void system_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *params,
                    real *dparams);

/* kernel.c: coef, c, centre -> the kernel of every row of C. Element (row c, i, j) goes to
 * base[place*c_step + i*i_step + j*j_step]; place is c, or place(plan, c) if the function is given;
 * rows with a negative place are skipped. */
typedef struct kernel_view {
    real *base;
    ptrdiff_t c_step, i_step, j_step;
    ptrdiff_t (*place)(const ssm2d_kind_plan *plan, int c); /* NULL: c itself */
} kernel_view;
void kernel_generate(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, kernel_view out);
/* The adjoint, into dcoef, dc, dcentre (overwritten). fetch writes row i of the gradient of the
 * kernel of row c to `row`. */
typedef void kernel_fetch(const ssm2d_kind_plan *plan, const real *source, int c, int i, real *row);
void kernel_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, kernel_fetch *fetch,
                    const real *source);
/* Elements of scratch per worker; sets state_block. */
size_t kernel_states(ssm2d_kind_plan *plan, int inference);

/* directions.c: combines krows and D into k2, one kernel for all directions. The adjoint computes
 * the gradients in ktable and dd from dk2. */
void directions_reach(const ssm2d_kind_plan *plan, conv_reach reach[REACH_SIGNS]);
void directions_plan(ssm2d_kind_plan *plan);
void directions_prepare(const ssm2d_kind_plan *plan, ssm2d_workspace *ws);
void directions_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws);
kernel_fetch directions_fetch; /* reads the gradient in ktable */

/* output_silu.c: y = SiLU(z), and z, dy -> dz. */
void output_silu_apply(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, real *y);
void output_silu_backward(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *dy);

#endif
