/* params - where each parameter array stands in the flat array. */
#ifndef SSM2D_LAYER_PARAMS_H
#define SSM2D_LAYER_PARAMS_H

#include "ssm2d.h"

/* Offsets of the arrays a configuration has. Real: a, b, c. Polar: each with its angle. Cartesian:
 * a with its angle; b and c hold pairs (re, im). */
typedef struct param_offsets {
    size_t a, a_angle, b, b_angle, c, c_angle, d, gamma, beta, total;
} param_offsets;

param_offsets params_offsets(const ssm2d_config *config);

#endif
