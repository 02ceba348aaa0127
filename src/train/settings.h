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
    /* image, channels and outputs are zero until they are given, or taken from the data */
    model_config model;
    unsigned open; /* settings that nobody gave and that the data choose: train_settings_is_open */
} train_settings;

/* What settings mean that a file of a run does not have. */
ssm2d_status train_settings_default(train_settings *s, ssm2d_error *error);
/* The settings of a new run, which differ in one: evaluation keeps the aspect ratio of images
 * (eval_crop), where runs of earlier versions squash them. */
ssm2d_status train_settings_begin(train_settings *s, ssm2d_error *error);
/* Leaves open as well what data_defaults.h chooses to fit the data: val_fraction, bad_images,
 * batch, epochs, flip and resized_crop. Setting one of them afterwards closes it. */
void train_settings_leave_open(train_settings *s);
/* Closes those of them that a recipe decides on: batch, epochs and augmentation. */
void train_settings_close_training(train_settings *s);
/* Closes all of them, so that eval_crop alone is open, as after train_settings_begin. */
void train_settings_close_data(train_settings *s);
/* Whether a setting is to be chosen by the data. */
int train_settings_is_open(const train_settings *s, const char *key);
/* Sets one key from text; `where` is for messages: "--set". The key `model` resets all keys of the
 * model to that model's own values. */
ssm2d_status train_settings_set(train_settings *s, const char *where, const char *key,
                                const char *text, ssm2d_error *error);
/* Whether there is such a key; for keys of a model, in the model that is set. */
int train_settings_have(const train_settings *s, const char *key);
/* Whether it is a key of every run, rather than of a model. */
int train_settings_is_common(const char *key);
/* Keys given in the object replace those in *s; on failure *s is left as it is. */
ssm2d_status train_settings_from_json(train_settings *s, const char *file, const cJSON *object,
                                      ssm2d_error *error);
/* Reads settings from a JSON file. */
ssm2d_status train_settings_read(const ssm2d_context *context, const char *path, train_settings *s,
                                 ssm2d_error *error);
/* Returns an object that the caller frees with cJSON_Delete; NULL without memory. */
cJSON *train_settings_to_json(const train_settings *s);
/* Whether all settings are equal, in *same. Fails only when out of memory. */
ssm2d_status train_settings_same(const train_settings *a, const train_settings *b, int *same,
                                 ssm2d_error *error);
/* Completes the task and the settings of the model from the data, and checks all settings. A loss
 * that the task does not allow becomes the task's default. */
ssm2d_status train_settings_fit(train_settings *s, const dataset_info *data, ssm2d_error *error);

/* Whether a setting can change the result of a run: how often is saved, on how many threads images
 * are made, and the like, cannot. */
int train_setting_affects_result(const char *key);

#endif
