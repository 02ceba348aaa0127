/* data_defaults - defaults that fit the data: the one place where settings that nobody gave are
 * chosen by what the images are and how many there are.
 *
 * Data without test or validation images hold some out. Images whose kind is not known by a name
 * (image folders, idx files) may be few: the batch is small enough for several steps in an epoch,
 * and there are enough epochs for some hundred steps. Image folders, whose images have any size,
 * are taken for photos, which are mirrored and cropped at random, and of which a few may be broken.
 * Data sets that have a name keep the defaults of options.def. A run saves what was chosen. */
#ifndef SSM2D_TRAIN_DATA_DEFAULTS_H
#define SSM2D_TRAIN_DATA_DEFAULTS_H

#include "train/settings.h"

enum { DEFAULTS_EPOCH_STEPS = 10 }; /* an epoch of fewer steps is too short */
enum { DEFAULTS_STEPS = 300 };      /* and so is a run */

/* Which settings were chosen, for the caller to say. */
typedef struct data_defaults {
    int val_fraction, bad_images, batch, epochs, flip, resized_crop;
} data_defaults;

/* What has to be known before the data are opened: val_fraction and bad_images. */
ssm2d_status data_defaults_open(train_settings *s, data_defaults *chosen, ssm2d_error *error);
/* The rest, by the images that are trained on. */
ssm2d_status data_defaults_fit(train_settings *s, const dataset_info *train, data_defaults *chosen,
                               ssm2d_error *error);
/* Whether the data will choose a setting; for printing settings before the data are opened. */
int data_defaults_will_choose(const train_settings *s, const char *key);

#endif
