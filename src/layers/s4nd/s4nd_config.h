/* s4nd_config - the settings of S4ND: one state-space kernel for each axis and side; the 2-D kernel
 * is the product of those of the axes. Channel h uses system h mod n_ssm. */
#ifndef SSM2D_LAYERS_S4ND_CONFIG_H
#define SSM2D_LAYERS_S4ND_CONFIG_H

#include "layers/layer_kind.h"

/* The matrix of a system: diagonal (S4D), or diagonal plus low rank (S4), the paper's. */
typedef enum s4nd_form { S4ND_DIAG, S4ND_DPLR } s4nd_form;

typedef struct s4nd_config {
    int channels;    /* H */
    layer_init init; /* initial values */
    int d_state;     /* N, even: N/2 pairs of conjugate states */
    int n_ssm;       /* S, systems */
    double rate;     /* factor of the step dt, for a resolution other than the trained one */
    s4nd_form form;
    double dt_min, dt_max; /* of initial steps; 0: 0.1 and 1 for diag, 0.001 and 0.1 for dplr */
    int dt_per_channel;    /* of diag: a step for each channel, not for each system */
    /* of dplr: the grid that C is initialised for; 0: a model's own, or 8 x 8 without a model */
    int init_rows, init_cols;
} s4nd_config;

/* Steps of an axis, and so kernels: one for each system, or one for each channel. */
static inline size_t s4nd_steps(const s4nd_config *c)
{
    return (size_t)(c->form == S4ND_DPLR || c->dt_per_channel ? c->channels : c->n_ssm);
}

#endif
