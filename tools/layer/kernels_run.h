/* kernels_run - the kernels that a trained model has learned, one row of pictures per block. */
#ifndef SSM2D_TOOLS_KERNELS_RUN_H
#define SSM2D_TOOLS_KERNELS_RUN_H

#include "train/run_folder.h"

typedef struct kernels_run {
    const char *folder, *output;
    run_file weights;
    int rows, cols; /* of a causal kernel; 0: the model's grid */
    int channels;   /* how many to show; 0: one for each system, at most 8 */
    int shared_scale;
    int no_title; /* nor notes */
} kernels_run;

/* Draws the kernels of a run's model to what->output. */
ssm2d_status kernels_run_draw(ssm2d_context *context, const kernels_run *what, ssm2d_error *error);

#endif
