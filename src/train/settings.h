/* settings - all that decides a run: its options, how images are changed, and the model; flat keys
 * in one JSON object.
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
    /* image, channels and classes are zero until given, or taken from the data */
    model_config model;
} train_settings;

ssm2d_status train_settings_default(train_settings *s, ssm2d_error *error);
/* One key from text; `where` is for messages about the model: "--set". A `model` replaces all that
 * was said about it before. */
ssm2d_status train_settings_set(train_settings *s, const char *where, const char *key,
                                const char *text, ssm2d_error *error);
/* Keys given in the object replace those in *s; on failure *s is left as it is. */
ssm2d_status train_settings_from_json(train_settings *s, const char *file, const cJSON *object,
                                      ssm2d_error *error);
/* keep_model: the name of a model in the file is passed over. */
ssm2d_status train_settings_read(const ssm2d_context *context, const char *path, int keep_model,
                                 train_settings *s, ssm2d_error *error);
/* To be freed with cJSON_Delete; NULL without memory. */
cJSON *train_settings_to_json(const train_settings *s);
/* Whether both say the same, whatever version wrote them. */
int train_settings_same(const train_settings *a, const train_settings *b);
/* Takes from the data what the model leaves open, and checks that all of it goes together. With
 * binary labels the loss becomes bce, the only one that fits them. */
ssm2d_status train_settings_fit(train_settings *s, const dataset_info *data, ssm2d_error *error);

#endif
