/* selective_plan - settings and plan of ssm2d_selective: the 2-D SSM with real systems, each
 * coefficient raised to the power of a step that the receiving cell chooses.
 *
 *     z = W1 u,  dt = log(1 + exp(W2 z + dt_bias))        one step per cell and system
 *     a_m = sigmoid(A_m)^dt = exp(-dt * lam_m)            recurrence: simd/scan_step.h
 *
 * H channels, K systems, N states, J ranks, R directions. Channels take systems in turn
 * (ssm2d/assign.h), so that the systems of a vector of channels repeat after `patterns` vectors. */
#ifndef SSM2D_LAYERS_SELECTIVE_PLAN_H
#define SSM2D_LAYERS_SELECTIVE_PLAN_H

#include "layers/scan/scan_plan.h"
#include "layers/ssm2d/assign.h"

typedef struct selective_config {
    ssm2d_config core; /* channels first; its values are real, without truncation */
    int dt_rank, c_cell, input_dt;
} selective_config;

/* dt_rank 0 stands for channels/16, rounded up. */
static inline int selective_rank(const selective_config *c)
{
    return c->dt_rank ? c->dt_rank : div_up(c->core.channels, 16);
}

/* Vectors of coefficients of one vector of channels: those that depend on the system, in this
 * order, and those that depend on the channel. */
typedef struct selective_layout {
    int rate, b, w2, bias, wc, shared; /* [N][4], [N][2], [J], 1, [J][N][2]; number of them */
    int c, d, own;                     /* [N][2], 1; number of them */
} selective_layout;

typedef struct selective_plan {
    scan_layer_plan scan;
    selective_config config;
    int ranks, patterns;
    size_t a, b, c, d, w2, bias, wc; /* offsets of parameters */
    scan_walk walk[4];
    selective_layout at;
    /* Regions */
    size_t shared;  /* [R][patterns][at.shared][lanes] */
    size_t own;     /* [R][V][at.own][lanes] */
    size_t back;    /* [R][patterns][(1 + 2N)*lanes][padded ranks]: W2, then Wc, transposed */
    size_t partial; /* [chunks][R][V][at.shared + at.own][lanes], gradients */
    size_t one;     /* the number 1 */
} selective_plan;

extern const layer_functions selective_functions_f32, selective_functions_f64;

#endif
