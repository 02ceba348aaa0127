/* ema_internal - the pieces of EMA that are compiled for each number type. */
#ifndef SSM2D_BASELINES_EMA_INTERNAL_H
#define SSM2D_BASELINES_EMA_INTERNAL_H

#include "baselines/baseline.h"
#include "conv/conv.h"

/* Numbers of the decays of one vector of channels. */
static inline size_t ema_decays_size(const ssm2d_baseline_plan *p)
{
    return (size_t)p->ema.directions * 2 * (size_t)p->ema.states * (size_t)p->lanes;
}

/* ema_decays.c: parameters -> q and c of every channel, and omega; and back, adding to dparams. */
void ema_decays_make(ssm2d_baseline_plan *plan);
void ema_decays_prepare(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                        const real *params);
void ema_decays_adjoint(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                        const real *params, real *dparams);
/* The recurrences of all states of a vector: z += conv(u), of one direction or, with -1, of all;
 * and du, ddecays += their adjoint. Arrays are tiles; decays and ddecays are the vector's. */
void ema_states_scan(const ssm2d_baseline_plan *plan, int direction, real *z, const real *u,
                     const real *decays);
void ema_states_back(const ssm2d_baseline_plan *plan, int direction, real *du, const real *dz,
                     const real *u, const real *decays, real *ddecays, real *scratch);

/* ema_scan.c: the layer by these recurrences. Refuses a kernel that is cut. */
ssm2d_status ema_scan_make(ssm2d_baseline_plan *plan, ssm2d_error *error);
double ema_scan_cost(const ssm2d_baseline_plan *plan);
void ema_scan_apply(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws, const real *u,
                    real *y);
void ema_scan_backward(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws, const real *u,
                       const real *dy, real *du, int want_params);

/* ema_conv.c: the layer as a convolution with its kernel, by an algorithm of src/conv. */
ssm2d_status ema_conv_make(ssm2d_baseline_plan *plan, ssm2d_error *error);
void ema_conv_prepare(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws);
void ema_conv_apply(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws, const real *u,
                    real *y);
void ema_conv_backward(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws, const real *u,
                       const real *dy, real *du, int want_params);

#endif
