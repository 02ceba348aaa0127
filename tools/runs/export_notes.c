#include "export_notes.h"

#include "core/context.h"
#include "core/field.h"
#include "core/status.h"
#include "io/json.h"

#include <stdio.h>
#include <string.h>

static ssm2d_status no_memory(ssm2d_error *error)
{
    return fail_memory(error, "metadata of a model");
}

static ssm2d_status add(ssm2d_context *context, export_notes *n, const char *key, const char *text,
                        ssm2d_error *error)
{
    char *copy = mem_alloc(context, strlen(text) + 1);
    if (!copy) return no_memory(error);
    strcpy(copy, text);
    n->text[n->count] = copy;
    n->list[n->count++] = (onnx_note){key, copy};
    return SSM2D_OK;
}

/* Takes ownership of value; NULL: out of memory. */
static ssm2d_status add_json(ssm2d_context *context, export_notes *n, const char *key, cJSON *value,
                             ssm2d_error *error)
{
    char *text = value ? cJSON_PrintUnformatted(value) : NULL;
    const ssm2d_status status = text ? add(context, n, key, text, error) : no_memory(error);
    cJSON_free(text);
    cJSON_Delete(value);
    return status;
}

/* A list of floats, one per channel, with as many digits as they need. */
static ssm2d_status add_channels(ssm2d_context *context, export_notes *n, const char *key,
                                 const float *values, int channels, ssm2d_error *error)
{
    char text[96] = "[";
    for (int i = 0; i < channels; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.9g", i ? "," : "", (double)values[i]);
    }
    strncat(text, "]", sizeof text - strlen(text) - 1);
    return add(context, n, key, text, error);
}

/* Adds one of the run's settings for images. */
static ssm2d_status add_setting(ssm2d_context *context, export_notes *n, const ssm2d_model *m,
                                const char *name, ssm2d_error *error)
{
    field_group groups[MAX_AUGMENTATIONS + 1] = {0};
    augment_options options = m->augment;
    void *at = &options;
    char text[64];
    augment_options_groups(0, groups);
    const ssm2d_field *f = field_find_in(groups, name, &at);
    return f ? add(context, n, name, field_print(f, at, text, sizeof text), error) : SSM2D_OK;
}

/* Adds the steps of eval_crop in words, with the order and rounding of augment_eval_crop.c. */
static ssm2d_status add_preparation(ssm2d_context *context, export_notes *n, const ssm2d_model *m,
                                    ssm2d_error *error)
{
    ssm2d_model_preparation how;
    ssm2d_model_preparation_init(&how, sizeof how);
    ssm2d_model_preparation_get(m, &how);
    return add(context, n, "preparation",
               how.crop > 0
                   ? "1. convert to grey or RGB by channels; 2. resize: both sides of image_size "
                     "divided by eval_crop and rounded down; the side of the image that is shorter "
                     "in proportion to these gets that length, the other the length in "
                     "proportion, rounded down, at least that of image_size; pixels are rounded "
                     "to 8 bits; 3. cut image_size out of the middle, from (resized - image_size) "
                     "/ 2 on, rounded to the nearest number, halves to the even one; 4. (pixel / "
                     "255 - mean) / std"
                   : "1. convert to grey or RGB by channels; 2. resize to image_size, whatever the "
                     "aspect ratio; pixels are rounded to 8 bits; 3. (pixel / 255 - mean) / std",
               error);
}

static ssm2d_status add_data(ssm2d_context *context, export_notes *n, const ssm2d_model *m,
                             int channels, ssm2d_error *error)
{
    const run_data *d = &m->data;
    ssm2d_status status = add(context, n, "task", d->task->name, error);
    if (!status && d->names)
        status =
            add_json(context, n, OUTPUTS_KEY,
                     cJSON_CreateStringArray((const char *const *)d->names, d->outputs), error);
    if (!status && d->task->note_labels)
        status = add(context, n, "labels", d->task->note_labels, error);
    if (!status) status = add(context, n, "probabilities", loss_at(m->loss)->activation, error);
    if (!status) status = add_channels(context, n, "mean", d->norm.mean, channels, error);
    if (!status) status = add_channels(context, n, "std", d->norm.std, channels, error);
    if (!status) status = add_setting(context, n, m, "interpolation", error);
    if (!status) status = add_setting(context, n, m, "eval_crop", error);
    return status ? status : add_preparation(context, n, m, error);
}

ssm2d_status export_notes_make(ssm2d_context *context, const ssm2d_model *m, export_notes *n,
                               ssm2d_error *error)
{
    const model_config *c = &m->config;
    char size[32], channels[16], mixed[128];
    snprintf(size, sizeof size, "%dx%d", c->image[0], c->image[1]);
    snprintf(channels, sizeof channels, "%d", c->channels);
    mixer_config_text(&c->mixer, mixed, sizeof mixed);
    ssm2d_status status = add(context, n, "ssm2d_version", ssm2d_version(), error);
    if (!status) status = add(context, n, "model", c->model->name, error);
    if (!status) status = add(context, n, "mixer", mixed, error);
    if (!status) status = add_json(context, n, "config", model_config_to_json(c), error);
    if (!status) status = add(context, n, "image_size", size, error);
    if (!status) status = add(context, n, "channels", channels, error);
    return status || !m->is_run ? status : add_data(context, n, m, c->channels, error);
}

void export_notes_free(ssm2d_context *context, export_notes *n)
{
    for (int i = 0; i < n->count; i++) mem_free(context, n->text[i]);
    *n = (export_notes){0};
}
