#include "train/settings.h"

#include "core/status.h"
#include "io/json.h"
#include "io/layer_config.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { KEYS = 128, KEY = 48, SAID = 48 };

static const char standard_model[] = "vit-mini";

/* What a model's name says about image, channels and classes is for lists of models; a run has
 * those of its data. */
static void leave_open(model_config *m, int image, int channels, int classes)
{
    if (image) m->image[0] = m->image[1] = 0;
    if (channels) m->channels = 0;
    if (classes) m->classes = 0;
}

ssm2d_status train_settings_default(train_settings *s, ssm2d_error *error)
{
    memset(s, 0, sizeof *s);
    train_options_default(&s->options);
    s->augment = (augment_options){0}; /* short runs end sooner with the images as they are */
    ssm2d_status status = model_config_named(standard_model, &s->model, error);
    leave_open(&s->model, 1, 1, 1);
    s->model.mixer.kind = &mixer_ssm2d;
    return status;
}

static const ssm2d_field *augment_field(const char *key)
{
    size_t count;
    const ssm2d_field *fields = augment_options_fields(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(fields[i].name, key)) return &fields[i];
    return NULL;
}

static const train_field *option_field(const char *key)
{
    for (int i = 0; i < train_field_count; i++)
        if (!strcmp(train_fields[i].field, key) || !strcmp(train_fields[i].name, key))
            return &train_fields[i];
    return NULL;
}

static int has(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

/* The model's part of an object, which may hold other settings. */
static ssm2d_status set_model(train_settings *s, const char *file, const cJSON *object,
                              ssm2d_error *error)
{
    const char *others[KEYS];
    size_t count, n = 0;
    const ssm2d_field *fields = augment_options_fields(&count);
    for (int i = 0; i < train_field_count; i++) others[n++] = train_fields[i].field;
    for (size_t i = 0; i < count; i++) others[n++] = fields[i].name;
    others[n] = NULL;
    model_config m = s->model;
    ssm2d_status status = model_config_from_json(file, object, others, &m, error);
    if (status) return status;
    if (has(object, "model")) {
        leave_open(&m, !has(object, "image"), !has(object, "channels"), !has(object, "classes"));
        if (!has(object, "mixer")) m.mixer.kind = &mixer_ssm2d;
    }
    s->model = m;
    return SSM2D_OK;
}

static ssm2d_status set_augment(train_settings *s, const char *file, const ssm2d_field *f,
                                const cJSON *item, ssm2d_error *error)
{
    int value = -1;
    char said[SAID];
    int is_flag = f->names != NULL;
    if (is_flag && cJSON_IsBool(item)) value = cJSON_IsTrue(item);
    if (!is_flag && cJSON_IsNumber(item) && item->valuedouble == (int)item->valuedouble)
        value = (int)item->valuedouble;
    if (value >= f->minimum && value <= f->maximum) {
        memcpy((char *)&s->augment + f->offset, &value, sizeof value);
        return SSM2D_OK;
    }
    json_show(item, said, sizeof said);
    if (is_flag)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use true or false",
                    text_path(file), f->name, said);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use a whole number from %d to %d",
                text_path(file), f->name, said, f->minimum, f->maximum);
}

ssm2d_status train_settings_from_json(train_settings *s, const char *file, const cJSON *object,
                                      ssm2d_error *error)
{
    ssm2d_status status = set_model(s, file, object, error); /* refuses keys that nobody knows */
    for (const cJSON *item = status ? NULL : object->child; item && !status; item = item->next) {
        const ssm2d_field *change = augment_field(item->string);
        const train_field *option = option_field(item->string);
        if (change) status = set_augment(s, file, change, item, error);
        if (option) status = train_options_set_json(&s->options, file, option, item, error);
    }
    return status;
}

ssm2d_status train_settings_read(const ssm2d_context *context, const char *path, int keep_model,
                                 train_settings *s, ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = json_read(context, path, &root, error);
    if (!status && keep_model && cJSON_IsObject(root))
        cJSON_DeleteItemFromObjectCaseSensitive(root, "model");
    if (!status) status = train_settings_from_json(s, path, root, error);
    cJSON_Delete(root);
    return status;
}

/* All keys there are, for suggestions. */
static ssm2d_status refuse_key(const char *where, const char *key, ssm2d_error *error)
{
    const char *names[KEYS], *help;
    char model_keys[KEYS][KEY], said[SAID];
    size_t count, n = 0;
    const ssm2d_field *fields = augment_options_fields(&count);
    for (int i = 0; i < train_field_count; i++) names[n++] = train_fields[i].field;
    for (size_t i = 0; i < count; i++) names[n++] = fields[i].name;
    for (int i = 0; n < KEYS - 1 && model_config_key(i, model_keys[i], KEY, &help); i++)
        names[n++] = model_keys[i];
    names[n] = NULL;
    const char *near = closest_name(key, names);
    text_show(key, strlen(key), said, sizeof said);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: there is no setting %s; did you mean %s?",
                    where, said, near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: there is no setting %s; see ssm2d train --help",
                where, said);
}

static int is_model_key(const char *key)
{
    char name[KEY];
    const char *help;
    for (int i = 0; model_config_key(i, name, sizeof name, &help); i++)
        if (!strcmp(name, key)) return 1;
    /* the layer's keys have other forms too, which only its reader knows */
    return !strcmp(key, "mixer.complex") || !strcmp(key, "mixer.complex_form")
           || !strcmp(key, "mixer.normalize") || !strcmp(key, "mixer.trunc");
}

ssm2d_status train_settings_set(train_settings *s, const char *where, const char *key,
                                const char *text, ssm2d_error *error)
{
    const ssm2d_field *change = augment_field(key);
    if (option_field(key)) return train_options_set(&s->options, key, text, error);
    if (change) {
        cJSON *value = NULL;
        if (json_parse("", text, strlen(text), &value, NULL)) value = cJSON_CreateString(text);
        if (!value) return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for a value", where);
        ssm2d_status status = set_augment(s, where, change, value, error);
        cJSON_Delete(value);
        return status;
    }
    if (!is_model_key(key)) return refuse_key(where, key, error);
    ssm2d_status status = model_config_set(where, key, text, &s->model, error);
    if (!status && !strcmp(key, "model")) {
        leave_open(&s->model, 1, 1, 1);
        s->model.mixer.kind = &mixer_ssm2d;
    }
    return status;
}

cJSON *train_settings_to_json(const train_settings *s)
{
    size_t count;
    const ssm2d_field *fields = augment_options_fields(&count);
    cJSON *root = train_options_to_json(&s->options),
          *keys = root ? model_config_to_json(&s->model) : NULL;
    int good = keys != NULL;
    for (size_t i = 0; good && i < count; i++) {
        int value;
        memcpy(&value, (const char *)&s->augment + fields[i].offset, sizeof value);
        good = (fields[i].names ? cJSON_AddBoolToObject(root, fields[i].name, value)
                                : cJSON_AddNumberToObject(root, fields[i].name, value))
               != NULL;
    }
    while (good && keys->child) {
        cJSON *item = cJSON_DetachItemViaPointer(keys, keys->child);
        good = cJSON_AddItemToObject(root, item->string, item);
        if (!good) cJSON_Delete(item);
    }
    cJSON_Delete(keys);
    if (good) return root;
    cJSON_Delete(root);
    return NULL;
}

ssm2d_status train_settings_fit(train_settings *s, const dataset_info *data, ssm2d_error *error)
{
    model_config *m = &s->model;
    ssm2d_status status = train_options_check(&s->options, error);
    if (!status) status = augment_options_check(&s->augment, error);
    if (status) return status;
    if (!m->image[0]) {
        /* the data's size, unless it varies or cannot be cut into patches; then images are resized
         * to the model's */
        size_t patch = m->patch ? (size_t)m->patch : 4;
        int fits = data->rows && data->rows % patch == 0 && data->cols % patch == 0;
        m->image[0] = fits ? (int)data->rows : m->model->preset.image[0];
        m->image[1] = fits ? (int)data->cols : m->model->preset.image[1];
    }
    if (!m->channels) m->channels = data->channels;
    if (!m->classes) m->classes = data->classes;
    if (m->classes != data->classes)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the model has %d classes and the data have %d: leave \"classes\" out",
                    m->classes, data->classes);
    if (m->channels != 1 && m->channels != 3)
        return fail(error, SSM2D_ERROR_ARGUMENT, "\"channels\" is %d: images have 1 or 3",
                    m->channels);
    return model_config_finish(m, error);
}
