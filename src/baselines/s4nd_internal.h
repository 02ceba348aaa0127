/* s4nd_internal - the pieces of S4ND that are compiled for each number type. */
#ifndef SSM2D_BASELINES_S4ND_INTERNAL_H
#define SSM2D_BASELINES_S4ND_INTERNAL_H

#include "baselines/baseline.h"

/* The first tap of an axis among those of both, the offset 0 among them, and how many there are. */
static inline int s4nd_side(const ssm2d_baseline_plan *p, int axis)
{
    return axis ? p->cols : p->rows;
}
static inline int s4nd_first(const ssm2d_baseline_plan *p, int axis)
{
    return axis ? 2 * p->rows - 1 : 0;
}
static inline int s4nd_centre(const ssm2d_baseline_plan *p, int axis)
{
    return s4nd_first(p, axis) + s4nd_side(p, axis) - 1;
}

/* s4nd_taps.c: parameters -> taps of systems, of vectors, and D; and back, from the gradients in
 * `partial`, adding to dparams. */
void s4nd_systems_make(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                       const real *params);
void s4nd_taps_prepare(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                       const real *params);
void s4nd_taps_adjoint(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                       const real *params, real *dparams);

/* s4nd_direct.c: both axes in tiles that stay in the cache. */
void s4nd_direct_make(ssm2d_baseline_plan *plan);
double s4nd_direct_cost(const ssm2d_baseline_plan *plan);
void s4nd_direct_apply(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws, const real *u,
                       real *y);
/* Writes `partial` when want_params; adds to du unless NULL. */
void s4nd_direct_back(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws, const real *u,
                      const real *dy, real *du, int want_params);

#endif
