/* check_images - image files that cannot be read: decodes all of a new run before it begins, and
 * counts those that were met. */
#ifndef SSM2D_TRAIN_CHECK_IMAGES_H
#define SSM2D_TRAIN_CHECK_IMAGES_H

#include "train/training.h"
#include "train/trainer.h"

/* Looks at the files of a folder, unless bad_images=skip, which is for those who know; processes
 * share the work, and all have the result. Refuses the data when there is a bad file and
 * bad_images=stop; and with bad_images=few when there are more than 3, and more than 1 %. */
ssm2d_status check_images(trainer *t, file_check *result, ssm2d_error *error);
/* After an epoch: with bad_images=few refuses to go on when this process has met more bad images
 * than that, as when a disk is gone since. */
ssm2d_status check_images_met(const trainer *t, ssm2d_error *error);

/* As loader_skipped, for the loaders of all processes, each of which calls it: an image that
 * several could not read counts once. *first is a line of the first process that has one. */
ssm2d_status skipped_total(const ssm2d_context *context, cluster *c, loader *l, size_t *count,
                           ssm2d_error *first, ssm2d_error *error);

#endif
