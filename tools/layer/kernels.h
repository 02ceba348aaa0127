/* kernels - the pictures of `ssm2d kernels`: Figure 3 of the paper, the kernels that a trained
 * model has learned, and the effective receptive fields of trained models. */
#ifndef SSM2D_TOOLS_KERNELS_H
#define SSM2D_TOOLS_KERNELS_H

#include "tools/command.h"
#include "train/run_folder.h"

/* Draws the paper's Figure 3, as `ssm2d kernels --figure3 -o PATH` does. */
ssm2d_status kernels_figure3_draw(ssm2d_context *context, const char *path, ssm2d_error *error);

typedef struct kernels_run {
    const char *folder, *output;
    run_file weights;
    int rows, cols; /* of a causal kernel; 0: the model's grid */
    int channels;   /* how many to show; 0: one for each system, at most 8 */
    int shared_scale;
    int no_title; /* neither title nor notes */
} kernels_run;

/* Draws the kernels of a run's model to what->output, one row of pictures per block. */
ssm2d_status kernels_run_draw(ssm2d_context *context, const kernels_run *what, ssm2d_error *error);

typedef struct kernels_impulse {
    const char *image, *output;
    int rows, cols; /* of the grid */
    uint64_t seed;  /* of the parameters */
    int no_title;   /* neither title nor notes */
} kernels_impulse;

/* Draws the impulse responses of all kinds of layers, at a plain image and at another. */
ssm2d_status kernels_impulse_draw(ssm2d_context *context, const kernels_impulse *what,
                                  ssm2d_error *error);

enum { PICTURE_FILES = 3 }; /* .png, .svg and .pdf */

typedef struct kernels_field {
    word_list runs;
    const char *const *titles; /* of the runs; NULL: their models and mixers */
    /* an image file, data whose test images to take, or "test" for those of each run */
    const char *images;
    long count; /* of images of a data set */
    int block;  /* the tokens after this block, from 1; 0: after the last */
    const char *outputs[PICTURE_FILES + 1]; /* NULL after the last */
    run_file weights;
    int no_title; /* neither title nor notes */
} kernels_field;

/* Draws the fields to what->outputs, and prints how far each reaches. */
ssm2d_status kernels_field_draw(ssm2d_context *context, const kernels_field *what,
                                ssm2d_error *error);

#endif
