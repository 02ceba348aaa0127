/* output_norm - the LayerNorm at the end of a layer. */
#ifndef SSM2D_LAYERS_OUTPUT_NORM_H
#define SSM2D_LAYERS_OUTPUT_NORM_H

#include "core/real.h"
#include "layers/layer_kind.h"
#include "layers/layer_names.h"

/* Offsets of its arrays: regions of a workspace, and parameters. z, dz: [batch][rows][cols][H]. */
typedef struct output_norm {
    size_t z, dz;
    size_t values;      /* [2][H], a copy of gamma and beta */
    size_t sums;        /* output_norm_sums elements */
    size_t gamma, beta; /* in the parameters */
} output_norm;

size_t output_norm_sums(const ssm2d_plan *plan);
/* y = LayerNorm(z), and z, dy -> dz; adds dgamma, dbeta to dparams unless NULL. */
void output_norm_apply(const ssm2d_plan *plan, const output_norm *norm, ssm2d_workspace *ws,
                       real *y);
void output_norm_backward(const ssm2d_plan *plan, const output_norm *norm, ssm2d_workspace *ws,
                          const real *dy, real *dparams);

#endif
