/* parts - the pieces of the layer that are compiled for each number type, in the order a forward pass uses them. */
#ifndef SSM2D_LAYER_PARTS_H
#define SSM2D_LAYER_PARTS_H

#include "core/real.h"
#include "kernels/simd.h"
#include "layer/plan.h"

/* system.c: raw parameters -> coef, c, centre, d, norm; and back: dcoef, dc, dcentre, dd -> dparams (added to). */
void NAME(system_prepare)(const ssm2d_plan *plan, ssm2d_workspace *ws, const real *params);
double NAME(system_border)(const ssm2d_plan *plan); /* the factor of the kernel's first row and column (norm `paper`: 2) */
void NAME(system_adjoint)(const ssm2d_plan *plan, ssm2d_workspace *ws, const real *params, real *dparams);

/* kernel.c: coef, c, centre -> the kernel of every row of C. Element (row c, i, j) goes to base[c*c_step + i*i_step + j*j_step];
 * rows of C from `rows` on are left out. */
typedef struct NAME(kernel_view) {
    real *base;
    ptrdiff_t c_step, i_step, j_step;
    int rows;
} NAME(kernel_view);
void NAME(kernel_generate)(const ssm2d_plan *plan, ssm2d_workspace *ws, NAME(kernel_view) out);
/* The adjoint, into dcoef, dc, dcentre (overwritten). fetch gives row i of the gradient of the kernel of row c. */
typedef void NAME(kernel_fetch)(const ssm2d_plan *plan, const real *source, int c, int i, real *row);
void NAME(kernel_adjoint)(const ssm2d_plan *plan, ssm2d_workspace *ws, NAME(kernel_fetch) *fetch, const real *source);
size_t NAME(kernel_states)(ssm2d_plan *plan, int inference); /* numbers of scratch per worker; sets state_block */

/* two_sided.c: krows -> k2, all directions and D in one kernel; and dk2 -> ktable (as gradient) and dd. */
void NAME(two_sided_prepare)(const ssm2d_plan *plan, ssm2d_workspace *ws);
void NAME(two_sided_adjoint)(const ssm2d_plan *plan, ssm2d_workspace *ws);
void NAME(two_sided_plan)(ssm2d_plan *plan);
NAME(kernel_fetch) NAME(two_sided_fetch); /* reads the gradient in ktable */

/* layer_norm.c: y = LayerNorm(z), and z, dy -> dz; adds dgamma, dbeta to dparams unless NULL. */
void NAME(layer_norm_apply)(const ssm2d_plan *plan, ssm2d_workspace *ws, real *y);
void NAME(layer_norm_backward)(const ssm2d_plan *plan, ssm2d_workspace *ws, const real *dy, real *dparams);
size_t NAME(layer_norm_sums)(const ssm2d_plan *plan);

extern const algorithm NAME(algorithm_direct), NAME(algorithm_fft), NAME(algorithm_scan);

#endif
