/* check_images - image files that cannot be read: checks all files of a new run before it begins,
 * and counts those that its loaders skipped. */
#ifndef SSM2D_TRAIN_CHECK_IMAGES_H
#define SSM2D_TRAIN_CHECK_IMAGES_H

#include "train/training.h"
#include "train/trainer.h"

/* Decodes all files of an image folder, unless bad_images=skip; processes share the work, and all
 * get the result. Fails if a file is bad and bad_images=stop; with bad_images=few if more than 3
 * files and more than 1 % are bad. */
ssm2d_status check_images(trainer *t, file_check *result, ssm2d_error *error);
/* Called after an epoch: with bad_images=few, fails if the loaders of this process have skipped
 * more images than that, for example because a disk was removed. */
ssm2d_status check_images_met(const trainer *t, ssm2d_error *error);

/* As loader_skipped, over the loaders of all processes, each of which calls it: an image that
 * several processes could not read counts once. *first is the message of the lowest rank. */
ssm2d_status skipped_total(const ssm2d_context *context, cluster *c, loader *l, size_t *count,
                           ssm2d_error *first, ssm2d_error *error);

#endif
