/* run_images - the images that a run's model is evaluated on, as it was in training: of the run's
 * own data, in the model's size, with its normalisation. */
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

/* Opens the data alone, as below; the caller closes *data. */
ssm2d_status run_images_data(ssm2d_context *context, const char *folder, const run_model *m,
                             const char *where, dataset **data, dataset_split *split,
                             ssm2d_error *error);
/* Opens the test images of `where`; of data that have none, those that the best epoch was chosen
 * by. where: NULL stands for the data of the run in `folder`. The caller closes *images, after a
 * failure as well. */
ssm2d_status run_images_open(ssm2d_context *context, const char *folder, const run_model *m,
                             const char *where, run_images *images, ssm2d_error *error);
void run_images_close(run_images *images);

#endif
