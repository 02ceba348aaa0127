/* filter - the layers that `ssm2d filter` runs over a picture: that of a trained model's block, and
 * one with chosen parameters. Both make a configuration and the parameters of a layer, in double,
 * which the caller frees with mem_free. */
#ifndef SSM2D_TOOLS_FILTER_H
#define SSM2D_TOOLS_FILTER_H

#include "layers/ssm2d/ssm2d_config.h"
#include "train/run_folder.h"

typedef struct filter_run {
    const char *folder;
    run_file weights;
    int block;   /* from 1 */
    int channel; /* from 0; -1: the mean of all channels */
} filter_run;

/* A layer of one channel. A LayerNorm at the end of the block's layer, which needs all channels, is
 * left out. */
ssm2d_status filter_run_layer(ssm2d_context *context, const filter_run *what, ssm2d_config *config,
                              double **params, ssm2d_error *error);

/* A motion blur whose trail fades and widens in one direction. */
typedef struct filter_trail {
    double angle;  /* degrees: 0 to the right, 90 down, 180 to the left, 270 up */
    double length; /* mean length in pixels */
    double mix;    /* weight of the trail; the picture itself has weight 1 - mix */
} filter_trail;

/* A layer that treats all channels alike. */
ssm2d_status filter_trail_layer(const ssm2d_context *context, const filter_trail *trail,
                                int channels, ssm2d_config *config, double **params,
                                ssm2d_error *error);

#endif
