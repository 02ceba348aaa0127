#include "train/settings.h"

#include "core/status.h"
#include "core/suggest.h"
#include "io/field_json.h"
#include "io/json.h"
#include "io/text.h"

#include <string.h>

enum { MAX_KEYS = 256, SHOWN = 48 };

static const char default_model[] = "vit-mini";

/* Settings that the data may choose: their bits in `open`. */
enum {
    OPEN_EVAL_CROP,
    OPEN_VAL_FRACTION,
    OPEN_BAD_IMAGES,
    OPEN_BATCH,
    OPEN_EPOCHS,
    OPEN_FLIP,
    OPEN_RESIZED_CROP,
    OPEN_COUNT
};
static const char *const open_keys[OPEN_COUNT] = {[OPEN_EVAL_CROP] = "eval_crop",
                                                  [OPEN_VAL_FRACTION] = "val_fraction",
                                                  [OPEN_BAD_IMAGES] = "bad_images",
                                                  [OPEN_BATCH] = "batch",
                                                  [OPEN_EPOCHS] = "epochs",
                                                  [OPEN_FLIP] = "flip",
                                                  [OPEN_RESIZED_CROP] = "resized_crop"};

/* Resets image, channels and outputs, so that they are taken from the data. A named model's own
 * values serve only lists of models, except channels that it keeps. */
static void leave_open(model_config *m, int image, int channels, int outputs)
{
    if (image) m->image[0] = m->image[1] = 0;
    if (channels && !m->model->keeps_channels) m->channels = 0;
    if (outputs) m->outputs = 0;
}

/* Sets the model by its name, with its default mixer. */
static ssm2d_status begin_model(train_settings *s, field_source from, const char *name,
                                ssm2d_error *error)
{
    ssm2d_status status = model_config_set(from, "model", name, &s->model, error);
    if (!status)
        status = model_config_use_mixer(&s->model, model_default_mixer(s->model.model), error);
    if (!status) leave_open(&s->model, 1, 1, 1);
    return status;
}

ssm2d_status train_settings_default(train_settings *s, ssm2d_error *error)
{
    memset(s, 0, sizeof *s);
    train_options_default(&s->options);
    s->augment = augment_options_default(); /* none: short runs learn faster without */
    return begin_model(s, (field_source){.where = "model"}, default_model, error);
}

ssm2d_status train_settings_begin(train_settings *s, ssm2d_error *error)
{
    ssm2d_status status = train_settings_default(s, error);
    s->open = 1u << OPEN_EVAL_CROP;
    return status;
}

void train_settings_leave_open(train_settings *s) { s->open = (1u << OPEN_COUNT) - 1; }

void train_settings_close_training(train_settings *s)
{
    s->open &= 1u << OPEN_EVAL_CROP | 1u << OPEN_VAL_FRACTION | 1u << OPEN_BAD_IMAGES;
}

void train_settings_close_data(train_settings *s) { s->open &= 1u << OPEN_EVAL_CROP; }

int train_settings_is_open(const train_settings *s, const char *key)
{
    for (int i = 0; i < OPEN_COUNT; i++)
        if (!strcmp(open_keys[i], key)) return (s->open >> i & 1) != 0;
    return 0;
}

/* Marks a key as given. Images that are shifted (crop_padding) are not cropped in addition. */
static void close_key(train_settings *s, const char *key)
{
    for (int i = 0; i < OPEN_COUNT; i++)
        if (!strcmp(open_keys[i], key)) s->open &= ~(1u << i);
    if (!strcmp(key, "crop_padding")) s->open &= ~(1u << OPEN_RESIZED_CROP);
}

/* As in timm: models for large images are evaluated on 7/8 of the shorter side, others on all. */
static ssm2d_status choose_crop(train_settings *s, ssm2d_error *error)
{
    enum { LARGE = 128 };
    const int large = s->model.image[0] >= LARGE && s->model.image[1] >= LARGE;
    if (!train_settings_is_open(s, open_keys[OPEN_EVAL_CROP])) return SSM2D_OK;
    close_key(s, open_keys[OPEN_EVAL_CROP]);
    return augment_options_set(&s->augment, open_keys[OPEN_EVAL_CROP], large ? "0.875" : "1",
                               error);
}

/* The fields of train_settings other than those of the model. */
typedef struct setting_groups {
    field_group list[1 + MAX_AUGMENTATIONS + 1];
} setting_groups;

static setting_groups groups(void)
{
    setting_groups g = {{{train_fields, offsetof(train_settings, options)}}};
    augment_options_groups(offsetof(train_settings, augment), g.list + 1);
    return g;
}

/* Writes their names to a list of MAX_KEYS; returns the count. */
static size_t setting_names(const char **names)
{
    const setting_groups g = groups();
    size_t n = 0;
    for (const field_group *one = g.list; one->fields; one++)
        for (const ssm2d_field *f = one->fields; f->name && n < MAX_KEYS - 1; f++)
            names[n++] = f->name;
    return n;
}

static int has(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

/* Reads the model's keys of an object, which may have other settings. */
static ssm2d_status set_model(train_settings *s, const char *file, const cJSON *object,
                              ssm2d_error *error)
{
    const char *others[MAX_KEYS];
    others[setting_names(others)] = NULL;
    model_config m = s->model;
    ssm2d_status status = model_config_from_json(file, object, others, &m, error);
    if (!status && has(object, "model")) {
        leave_open(&m, !has(object, "image"), !has(object, "channels"), !has(object, OUTPUTS_KEY));
        if (!has(object, "mixer"))
            status = model_config_use_mixer(&m, model_default_mixer(m.model), error);
    }
    if (!status) s->model = m;
    return status;
}

ssm2d_status train_settings_from_json(train_settings *s, const char *file, const cJSON *object,
                                      ssm2d_error *error)
{
    const setting_groups g = groups();
    const field_source from = {.where = text_path(file)};
    train_settings result = *s;
    ssm2d_status status = set_model(&result, file, object, error); /* refuses unknown keys */
    for (const cJSON *item = status ? NULL : object->child; item && !status; item = item->next) {
        void *config = &result;
        const ssm2d_field *f = field_find_in(g.list, item->string, &config);
        if (f) status = field_from_json(from, f, item, config, error);
        if (f) close_key(&result, f->name);
    }
    if (!status) *s = result;
    return status;
}

ssm2d_status train_settings_read(const ssm2d_context *context, const char *path, train_settings *s,
                                 ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = json_read_regular(context, path, &root, error);
    if (!status) status = train_settings_from_json(s, path, root, error);
    cJSON_Delete(root);
    return status;
}

/* Fails with the closest existing key as a suggestion. */
static ssm2d_status refuse_key(const train_settings *s, const char *where, const char *key,
                               ssm2d_error *error)
{
    const char *names[MAX_KEYS], *help;
    char model_keys[MAX_KEYS][MODEL_KEY], shown[SHOWN];
    size_t n = setting_names(names);
    for (int i = 0; n < MAX_KEYS - 1 && model_config_key(&s->model, i, model_keys[i], &help); i++)
        names[n++] = model_keys[i];
    names[n] = NULL;
    const char *near = closest_name(key, names);
    text_show(key, strlen(key), shown, sizeof shown);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: there is no setting %s; did you mean %s?",
                    where, shown, near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: there is no setting %s; see ssm2d train --help",
                where, shown);
}

int train_settings_is_common(const char *key)
{
    const setting_groups g = groups();
    void *config = NULL;
    return field_find_in(g.list, key, &config) != NULL;
}

int train_settings_have(const train_settings *s, const char *key)
{
    return train_settings_is_common(key) || model_config_has(&s->model, key);
}

ssm2d_status train_settings_set(train_settings *s, const char *where, const char *key,
                                const char *text, ssm2d_error *error)
{
    const setting_groups g = groups();
    const field_source from = {.where = where};
    void *config = s;
    const ssm2d_field *f = field_find_in(g.list, key, &config);
    if (f) close_key(s, f->name);
    if (f) return field_parse(from, f, text, config, error);
    if (!strcmp(key, "model")) return begin_model(s, from, text, error);
    if (!model_config_has(&s->model, key)) return refuse_key(s, where, key, error);
    return model_config_set(from, key, text, &s->model, error);
}

cJSON *train_settings_to_json(const train_settings *s)
{
    const setting_groups g = groups();
    cJSON *root = cJSON_CreateObject(), *keys = root ? model_config_to_json(&s->model) : NULL;
    int good = keys != NULL;
    for (const field_group *one = g.list; one->fields; one++)
        for (const ssm2d_field *f = one->fields; f->name && good; f++)
            good = field_add_to_json(root, f, (const char *)s + one->offset);
    while (good && keys->child) {
        cJSON *item = cJSON_DetachItemViaPointer(keys, keys->child);
        good = json_add(root, item->string, item);
    }
    cJSON_Delete(keys);
    if (good) return root;
    cJSON_Delete(root);
    return NULL;
}

ssm2d_status train_settings_same(const train_settings *a, const train_settings *b, int *same,
                                 ssm2d_error *error)
{
    cJSON *one = train_settings_to_json(a), *two = train_settings_to_json(b);
    const int made = one && two;
    *same = made && cJSON_Compare(one, two, 1);
    cJSON_Delete(one);
    cJSON_Delete(two);
    return made ? SSM2D_OK : fail_memory(error, "comparing the run's settings");
}

ssm2d_status train_settings_fit(train_settings *s, const dataset_info *data, ssm2d_error *error)
{
    model_config *m = &s->model;
    const task *t = task_chosen(s->options.task, data);
    const int outputs = t->outputs(data).count;
    if (!t->accepts(data))
        return fail(error, SSM2D_ERROR_ARGUMENT, "task=%s: needs data with %s", t->name, t->labels);
    s->options.task = task_setting(t);
    if (!task_allows_loss(t, (loss_kind)s->options.loss)) s->options.loss = (int)t->losses[0];
    if (t->head && !m->model->family->tokens)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "task=%s: needs tokens, which models of the family %s do not output", t->name,
                    m->model->family->name);
    m->head = t->head;
    ssm2d_status status = train_options_check(&s->options, error);
    if (!status) status = augment_options_check(&s->augment, error);
    if (status) return status;
    if (!m->image[0]) {
        /* the size of the data, unless it varies or does not fit the model: images are resized */
        const int rows = (int)data->rows, cols = (int)data->cols;
        const int fits = rows && cols && m->model->family->fits(m, rows, cols);
        m->image[0] = fits ? rows : m->model->image;
        m->image[1] = fits ? cols : m->model->image;
    }
    if (!m->channels) m->channels = data->channels;
    if (!m->outputs) m->outputs = outputs;
    if (m->outputs != outputs)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the model has %d %s, but the data have %d: leave \"" OUTPUTS_KEY "\" out",
                    m->outputs, t->many, outputs);
    if (m->channels != 1 && m->channels != 3)
        return fail(error, SSM2D_ERROR_ARGUMENT, "\"channels\" is %d: images have 1 or 3",
                    m->channels);
    status = choose_crop(s, error);
    return status ? status : model_config_finish(m, error);
}

int train_setting_affects_result(const char *key)
{
    static const char *const others[] = {"workers",      "memory",     "log_every", "save_every",
                                         "save_minutes", "bad_images", "max_pixels"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(key, others[i])) return 0;
    return 1;
}
