/* kernels_field - the effective receptive fields of trained models, side by side. */
#ifndef SSM2D_TOOLS_KERNELS_FIELD_H
#define SSM2D_TOOLS_KERNELS_FIELD_H

#include "tools/command.h"
#include "train/run_folder.h"

enum { PICTURE_FILES = 3 }; /* at most: .png, .svg and .pdf */

typedef struct kernels_field {
    word_list runs;
    const char *const *titles; /* of the runs; NULL: their models and mixers */
    /* an image file, data whose test images to take, or "test" for those of each run */
    const char *images;
    long count; /* of images of a data set */
    int block;  /* the tokens after this block, from 1; 0: after the last */
    const char *outputs[PICTURE_FILES + 1]; /* NULL after the last */
    run_file weights;
    int no_title; /* nor notes */
} kernels_field;

/* Draws the fields to what->outputs, and prints how far each reaches. */
ssm2d_status kernels_field_draw(ssm2d_context *context, const kernels_field *what,
                                ssm2d_error *error);

#endif
