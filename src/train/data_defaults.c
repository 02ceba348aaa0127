#include "train/data_defaults.h"

#include "core/arith.h"
#include "data/epoch_order.h"

#include <stdio.h>
#include <string.h>

static const char held_out[] = "0.1", crop_area[] = "0.6";

/* Sets a setting that is open, and records that it was chosen. */
static ssm2d_status choose(train_settings *s, const char *key, const char *value, int *chosen,
                           ssm2d_error *error)
{
    if (!train_settings_is_open(s, key)) return SSM2D_OK;
    *chosen = 1;
    return train_settings_set(s, "the defaults for the data", key, value, error);
}

ssm2d_status data_defaults_open(train_settings *s, data_defaults *chosen, ssm2d_error *error)
{
    int splits = 0;
    *chosen = (data_defaults){0};
    if (!train_settings_is_open(s, "val_fraction") && !train_settings_is_open(s, "bad_images"))
        return SSM2D_OK;
    ssm2d_status status = dataset_splits(s->options.data, &splits, error);
    if (!status && splits == DATASET_HAS(TRAIN))
        status = choose(s, "val_fraction", held_out, &chosen->val_fraction, error);
    if (!status && dataset_format_of(s->options.data) == FORMAT_PHOTOS)
        status = choose(s, "bad_images", "few", &chosen->bad_images, error);
    return status;
}

/* The largest power of two that leaves DEFAULTS_EPOCH_STEPS steps per epoch, up to the default. */
static size_t fitting_batch(size_t images, size_t usual)
{
    size_t batch = 1;
    while (2 * batch <= usual && 2 * batch * DEFAULTS_EPOCH_STEPS <= images) batch *= 2;
    return batch;
}

static size_t fitting_epochs(const train_options *o, size_t images)
{
    const epoch_order order = {
        .count = images, .repeats = (size_t)o->repeats, .kind = (repeat_kind)o->repeat_kind};
    const size_t steps = max_size(epoch_order_length(&order) / (size_t)o->batch, 1);
    return max_size((size_t)o->epochs, div_up_size(DEFAULTS_STEPS, steps));
}

ssm2d_status data_defaults_fit(train_settings *s, const dataset_info *train, data_defaults *chosen,
                               ssm2d_error *error)
{
    char text[32];
    ssm2d_status status = SSM2D_OK;
    if (train->format == FORMAT_NAMED) return status;
    snprintf(text, sizeof text, "%zu", fitting_batch(train->count, (size_t)s->options.batch));
    status = choose(s, "batch", text, &chosen->batch, error);
    if (status) return status;
    snprintf(text, sizeof text, "%zu", fitting_epochs(&s->options, train->count));
    status = choose(s, "epochs", text, &chosen->epochs, error);
    if (status || train->format != FORMAT_PHOTOS) return status; /* digits must not be mirrored */
    status = choose(s, "flip", "true", &chosen->flip, error);
    return status ? status : choose(s, "resized_crop", crop_area, &chosen->resized_crop, error);
}

int data_defaults_will_choose(const train_settings *s, const char *key)
{
    int splits = 0;
    if (!train_settings_is_open(s, key)) return 0;
    if (!strcmp(key, "eval_crop")) return 1; /* by train_settings_fit */
    if (!strcmp(key, "val_fraction"))
        return !dataset_splits(s->options.data, &splits, NULL) && splits == DATASET_HAS(TRAIN);
    if (!strcmp(key, "batch") || !strcmp(key, "epochs"))
        return dataset_format_of(s->options.data) != FORMAT_NAMED;
    return dataset_format_of(s->options.data) == FORMAT_PHOTOS;
}
