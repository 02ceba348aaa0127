/* mixer_log - early signs of a mixer that diverges: for each block, the norm of the mixer's
 * gradient, and the gain of its kernels, which bounds how much it can amplify its input. */
#ifndef SSM2D_TRAIN_MIXER_LOG_H
#define SSM2D_TRAIN_MIXER_LOG_H

#include "models/weights.h"

typedef struct mixer_log {
    ssm2d_context *context;
    const weights *weights;
    int blocks;
    double *gradients; /* [blocks] */
    double *gains;     /* [blocks]: the L1 norm of a kernel, mean over channels */
    double *kernels;   /* scratch */
} mixer_log;

/* w is borrowed. A model without mixers, or whose mixer has no kernels, has 0 blocks. */
ssm2d_status mixer_log_create(ssm2d_context *context, const weights *w, mixer_log *log,
                              ssm2d_error *error);
void mixer_log_destroy(mixer_log *log);
ssm2d_status mixer_log_measure(mixer_log *log, const float *params, const float *gradients,
                               ssm2d_error *error);

#endif
