/* filter_run - the layer that a trained model has in one of its blocks, as a layer of one channel
 * that can run over a picture. */
#ifndef SSM2D_TOOLS_FILTER_RUN_H
#define SSM2D_TOOLS_FILTER_RUN_H

#include "layers/ssm2d/ssm2d_config.h"
#include "train/run_folder.h"

typedef struct filter_run {
    const char *folder;
    run_file weights;
    int block;   /* from 1 */
    int channel; /* from 0; -1: the mean of all channels */
} filter_run;

/* Makes the configuration and the parameters of the layer, in double, which the caller frees with
 * mem_free. A LayerNorm at the end of the block's layer, which needs all channels, is left out. */
ssm2d_status filter_run_layer(ssm2d_context *context, const filter_run *what, ssm2d_config *config,
                              double **params, ssm2d_error *error);

#endif
