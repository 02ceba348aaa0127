/* ema_internal - the functions of EMA that are compiled for each number type. */
#ifndef SSM2D_LAYERS_EMA_INTERNAL_H
#define SSM2D_LAYERS_EMA_INTERNAL_H

#include "layers/ema/ema_plan.h"
#include "conv/conv.h"

/* Number of elements in the decays of one vector of channels. */
static inline size_t ema_decays_size(const ema_plan *p)
{
    return (size_t)p->directions * 2 * (size_t)p->states * (size_t)p->base.lanes;
}

/* ema_decays.c: parameters -> q and c of every channel, and omega; and back, adding to dparams. */
void ema_decays_make(ema_plan *plan);
void ema_decays_prepare(const ema_plan *plan, ssm2d_workspace *ws, const real *params);
void ema_decays_adjoint(const ema_plan *plan, ssm2d_workspace *ws, const real *params,
                        real *dparams);
/* The recurrences of all states of one vector of channels: z += conv(u) for one direction, or for
 * all with direction -1; the adjoint adds to du and ddecays. Arrays are tiles; decays and ddecays
 * are those of the vector. */
void ema_states_scan(const ema_plan *plan, int direction, real *z, const real *u,
                     const real *decays);
void ema_states_back(const ema_plan *plan, int direction, real *du, const real *dz, const real *u,
                     const real *decays, real *ddecays, real *scratch);

/* ema_scan.c: computes the layer with these recurrences. Refuses truncated kernels. */
ssm2d_status ema_scan_make(ema_plan *plan, ssm2d_error *error);
double ema_scan_cost(const ema_plan *plan);
void ema_scan_apply(const ema_plan *plan, ssm2d_workspace *ws, const real *u, real *y);
void ema_scan_backward(const ema_plan *plan, ssm2d_workspace *ws, const real *u, const real *dy,
                       real *du, int want_params);

/* ema_conv.c: computes the layer as a convolution with its kernel, using src/conv. */
ssm2d_status ema_conv_make(ema_plan *plan, ssm2d_error *error);
void ema_conv_prepare(const ema_plan *plan, ssm2d_workspace *ws);
void ema_conv_apply(const ema_plan *plan, ssm2d_workspace *ws, const real *u, real *y);
void ema_conv_backward(const ema_plan *plan, ssm2d_workspace *ws, const real *u, const real *dy,
                       real *du, int want_params);

#endif
