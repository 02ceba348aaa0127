/* run_images - the images that a run's model is evaluated on, prepared as in training: with the
 * size and normalisation of the model. */
#ifndef SSM2D_TRAIN_RUN_IMAGES_H
#define SSM2D_TRAIN_RUN_IMAGES_H

#include "data/loader.h"
#include "train/run_folder.h"

typedef struct run_images {
    dataset *data;
    loader *loader;
    dataset_split split;
    size_t batch; /* of the loader */
} run_images;

/* Options for a loader of evaluation images. */
loader_options run_loader_options(const run_model *m, const dataset *data);
/* Opens only the data of run_images_open; the caller closes *data. */
ssm2d_status run_images_data(ssm2d_context *context, const char *folder, const run_model *m,
                             const char *where, dataset **data, dataset_split *split,
                             ssm2d_error *error);
/* Opens the test images of `where`, or if there are none, the images that chose the best epoch.
 * where: NULL means the data of the run in `folder`. The caller closes *images, also after a
 * failure. */
ssm2d_status run_images_open(ssm2d_context *context, const char *folder, const run_model *m,
                             const char *where, run_images *images, ssm2d_error *error);
void run_images_close(run_images *images);

#endif
