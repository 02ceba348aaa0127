/* baseline_mixer - what the mixers s4nd and ema share. */
#ifndef SSM2D_MIXERS_BASELINE_MIXER_H
#define SSM2D_MIXERS_BASELINE_MIXER_H

#include "mixers/mixer.h"
#include "ssm2d_baselines.h"

/* Declares the parameters of one block; b has fill, owner and channels. */
tensor *baseline_mixer_params(graph *g, const ssm2d_baseline_config *config, param_block b,
                              token_grid grid, const char *block);

/* The weight of the input at an offset of rows and columns from the output, from the kernels of
 * ssm2d_baseline_kernel; shape is theirs. */
typedef double baseline_weight(const ssm2d_baseline_config *config, const float *kernels,
                               const size_t shape[3], int h, int rows, int cols, int di, int dj);
/* out[count][2*rows-1][2*cols-1] for the first `count` channels. */
ssm2d_status baseline_mixer_kernel(ssm2d_context *context, const ssm2d_baseline_config *config,
                                   int rows, int cols, const float *params, int count,
                                   baseline_weight *weight, double *out, ssm2d_error *error);

#endif
