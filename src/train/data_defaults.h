/* data_defaults - chooses settings that were not given from the kind and number of images.
 *
 * Data without test or validation images hold out some training images. Image folders and idx files
 * may be small: the batch is small enough for several steps per epoch, and there are enough epochs
 * for some hundred steps. Image folders are assumed to hold photos, which are mirrored and cropped
 * at random, and of which a few may be broken. Named data sets keep the defaults of options.def. A
 * run saves the chosen values. */
#ifndef SSM2D_TRAIN_DATA_DEFAULTS_H
#define SSM2D_TRAIN_DATA_DEFAULTS_H

#include "train/settings.h"

enum { DEFAULTS_EPOCH_STEPS = 10 }; /* least steps of an epoch */
enum { DEFAULTS_STEPS = 300 };      /* least steps of a run */

/* Which settings were chosen, for the caller to report. */
typedef struct data_defaults {
    int val_fraction, bad_images, batch, epochs, flip, resized_crop;
} data_defaults;

/* Chooses the settings that are needed to open the data: val_fraction and bad_images. */
ssm2d_status data_defaults_open(train_settings *s, data_defaults *chosen, ssm2d_error *error);
/* Chooses the rest from the training images. */
ssm2d_status data_defaults_fit(train_settings *s, const dataset_info *train, data_defaults *chosen,
                               ssm2d_error *error);
/* Whether the data will choose a setting; for printing settings before the data are opened. */
int data_defaults_will_choose(const train_settings *s, const char *key);

#endif
