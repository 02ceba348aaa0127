/* settings - all settings of a run: its options, the augmentation of images, and the model, as flat
 * keys of one JSON object.
 *
 * A key is one of options.def (epochs, lr ..), of an augmentation (flip, crop_padding ..), or of
 * the model (model, dim, mixer, mixer.directions ..). */
#ifndef SSM2D_TRAIN_SETTINGS_H
#define SSM2D_TRAIN_SETTINGS_H

#include "data/augment.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/options.h"

typedef struct train_settings {
    train_options options;
    augment_options augment;
    /* image, channels and outputs are zero until they are given or taken from the data */
    model_config model;
    unsigned open; /* settings not given, which the data choose: train_settings_is_open */
} train_settings;

/* The defaults of settings that are missing in the file of a run. */
ssm2d_status train_settings_default(train_settings *s, ssm2d_error *error);
/* The settings of a new run. They differ in eval_crop: evaluation keeps the aspect ratio of images,
 * which runs of earlier versions did not. */
ssm2d_status train_settings_begin(train_settings *s, ssm2d_error *error);
/* Opens in addition the settings that data_defaults.h chooses: val_fraction, bad_images, batch,
 * epochs, flip and resized_crop. Setting one of them later closes it. */
void train_settings_leave_open(train_settings *s);
/* Closes those that a recipe decides: batch, epochs and augmentation. */
void train_settings_close_training(train_settings *s);
/* Closes all except eval_crop, as after train_settings_begin. */
void train_settings_close_data(train_settings *s);
/* Whether the data are to choose a setting. */
int train_settings_is_open(const train_settings *s, const char *key);
/* Sets one key from text; `where` names the source in messages: "--set". The key `model` resets all
 * keys of the model to that model's values. */
ssm2d_status train_settings_set(train_settings *s, const char *where, const char *key,
                                const char *text, ssm2d_error *error);
/* Whether there is such a key; for keys of a model, in the model that is set. */
int train_settings_have(const train_settings *s, const char *key);
/* Whether a key is one of every run, not of a model. */
int train_settings_is_common(const char *key);
/* Sets the keys of a JSON object; on failure *s is unchanged. */
ssm2d_status train_settings_from_json(train_settings *s, const char *file, const cJSON *object,
                                      ssm2d_error *error);
/* Reads settings from a JSON file. */
ssm2d_status train_settings_read(const ssm2d_context *context, const char *path, train_settings *s,
                                 ssm2d_error *error);
/* Returns an object that the caller frees with cJSON_Delete; NULL if out of memory. */
cJSON *train_settings_to_json(const train_settings *s);
/* Whether all settings are equal, in *same. Fails only when out of memory. */
ssm2d_status train_settings_same(const train_settings *a, const train_settings *b, int *same,
                                 ssm2d_error *error);
/* Completes the task and the model's settings from the data, and checks all settings. A loss that
 * the task does not allow is replaced by the task's default. */
ssm2d_status train_settings_fit(train_settings *s, const dataset_info *data, ssm2d_error *error);

/* Whether a setting can change the result of a run. Those for checkpoints, logging, threads and
 * memory cannot. */
int train_setting_affects_result(const char *key);

#endif
