/* model_config - a model's configuration by keys: the fields that every model has, those of its
 * family, and those of its mixer. */
#include "core/status.h"
#include "core/suggest.h"
#include "io/field_json.h"
#include "io/json.h"
#include "io/text.h"
#include "mixers/layer_json.h"
#include "models/model.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 128, SHOWN = 64 };

#define PLACE(name) offsetof(model_config, name)

/* Bounds are such that the product of two fits an int, and of all a size_t. */
static const ssm2d_field common_fields[] = {
    {"image", "rows and columns of an image in pixels: [32, 48], or one number for a square",
     SSM2D_KIND_PAIR, PLACE(image), 1, 16384, NULL, NULL, NULL},
    {"channels", "channels of an image: 3, or 1 for grey", SSM2D_KIND_INT, PLACE(channels), 1, 512,
     NULL, NULL, NULL},
    {OUTPUTS_KEY, "number of outputs", SSM2D_KIND_INT, PLACE(outputs), 1, 1 << 20, NULL, NULL,
     NULL},
    {0}};

const ssm2d_field *model_common_fields(void) { return common_fields; }

static const char model_help[] = "a name listed by `ssm2d models`; it sets all other keys";
static const char mixer_help[] =
    "the mixer of patches inside a block; in a file, null, a name or an object";
static const char mixer_prefix[] = "mixer.";

/* ---- by name --------------------------------------------------------------------------------- */

ssm2d_status model_config_named(const char *name, model_config *config, ssm2d_error *error)
{
    const model *m;
    ssm2d_status status = model_find(name, &m, error);
    if (status) return status;
    memset(config, 0, sizeof *config);
    config->model = m;
    config->image[0] = config->image[1] = m->image;
    config->channels = m->channels;
    config->outputs = m->outputs;
    memcpy(config->own, m->own, m->family->own_size);
    return model_config_use_mixer(config, &mixer_none, error);
}

ssm2d_status model_config_use_mixer(model_config *config, const layer_kind *kind,
                                    ssm2d_error *error)
{
    mixer_config m;
    ssm2d_status status = SSM2D_OK;
    mixer_config_default(kind, &m);
    for (const mixer_preset *p = config->model->mixers; p && p->mixer && !status; p++)
        if (!strcmp(p->mixer, kind->name)) status = mixer_config_preset(p->settings, &m, error);
    if (!status) config->mixer = m;
    return status;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Finds the field of that name and the struct that contains it. */
static const ssm2d_field *find(const model_config *c, const char *key, const void **config)
{
    const ssm2d_field *f = field_find(common_fields, key);
    *config = c;
    if (f || !c->model) return f;
    *config = c->own;
    return field_find(c->model->family->fields, key);
}

static ssm2d_status set_kind(field_source from, const char *key, const char *name,
                             const char *shown, model_config *config, ssm2d_error *error)
{
    char names[256];
    const layer_kind *kind = mixer_find(name);
    if (!kind)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use %s", from.where, key, shown,
                    mixer_names(names, sizeof names));
    return kind == config->mixer.kind ? SSM2D_OK : model_config_use_mixer(config, kind, error);
}

static ssm2d_status set_model(field_source from, const char *name, model_config *config,
                              ssm2d_error *error)
{
    ssm2d_error why;
    ssm2d_status status = model_config_named(name, config, &why);
    return status ? fail(error, status, "%s: %s", from.where, why.line) : SSM2D_OK;
}

/* Refuses a key, and suggests one of this configuration. */
static ssm2d_status refuse_key(field_source from, const char *key, const char *const *others,
                               const model_config *config, ssm2d_error *error)
{
    const char *names[MAX_NAMES + 1] = {0}, *help;
    char keys[MAX_NAMES][MODEL_KEY];
    int n = 0;
    while (n < MAX_NAMES && model_config_key(config, n, keys[n], &help)) names[n] = keys[n], n++;
    for (; others && *others && n < MAX_NAMES; others++) names[n++] = *others;
    return field_refuse_key(from, key, names, error);
}

static ssm2d_status set_mixer_key(field_source from, const char *key, const char *text,
                                  model_config *config, ssm2d_error *error)
{
    const char *inner = key + strlen(mixer_prefix);
    char shown[SHOWN];
    int known;
    from.prefix = mixer_prefix;
    if (!strcmp(inner, "kind"))
        return set_kind(from, key, text, text_show(text, strlen(text), shown, sizeof shown), config,
                        error);
    if (config->mixer.kind == &mixer_none)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"%s\" is a setting of a mixer, but the model has none: choose one first "
                    "(mixer=ssm2d)",
                    from.where, text_show(key, strlen(key), shown, sizeof shown));
    mixer_config m = config->mixer;
    ssm2d_status status = mixer_config_set(from, inner, text, &m, &known, error);
    if (status) return status;
    if (!known) return mixer_config_refuse(from, &m, inner, error);
    config->mixer = m;
    return SSM2D_OK;
}

ssm2d_status model_config_set(field_source from, const char *key, const char *text,
                              model_config *config, ssm2d_error *error)
{
    const void *place;
    char shown[SHOWN], quoted[SHOWN + 2];
    if (!strcmp(key, "model")) return set_model(from, text, config, error);
    if (!strcmp(key, "mixer")) {
        snprintf(quoted, sizeof quoted, "\"%s\"",
                 text_show(text, strlen(text), shown, sizeof shown));
        return set_kind(from, key, text, quoted, config, error);
    }
    if (!strncmp(key, mixer_prefix, strlen(mixer_prefix)))
        return set_mixer_key(from, key, text, config, error);
    const ssm2d_field *f = find(config, key, &place);
    if (!f) return refuse_key(from, key, NULL, config, error);
    return field_parse(from, f, text, (void *)place, error);
}

int model_config_key(const model_config *config, int i, char key[MODEL_KEY], const char **help)
{
    const char *name;
    const ssm2d_field *tables[] = {common_fields, config->model->family->fields};
    *help = model_help;
    snprintf(key, MODEL_KEY, "model");
    if (i-- == 0) return 1;
    for (int t = 0; t < 2; t++)
        for (const ssm2d_field *f = tables[t]; f->name; f++) {
            if (i--) continue;
            snprintf(key, MODEL_KEY, "%s", f->name);
            *help = f->help;
            return 1;
        }
    *help = mixer_help;
    snprintf(key, MODEL_KEY, "mixer");
    if (i-- == 0) return 1;
    if (config->mixer.kind == &mixer_none || !mixer_config_key(&config->mixer, i, &name, help))
        return 0;
    snprintf(key, MODEL_KEY, "%s%s", mixer_prefix, name);
    return 1;
}

int model_config_has(const model_config *config, const char *key)
{
    const void *place;
    if (!strcmp(key, "model") || !strcmp(key, "mixer")) return 1;
    /* model_config_set refuses unknown keys of a mixer, with a suggestion */
    return !strncmp(key, mixer_prefix, strlen(mixer_prefix)) || find(config, key, &place) != NULL;
}

const char *model_config_text(const model_config *config, const char *key, char *text, size_t size)
{
    const void *place;
    const ssm2d_field *f = find(config, key, &place);
    if (f) return field_print(f, place, text, size);
    snprintf(text, size, "-");
    return text;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static ssm2d_status mixer_from_json(field_source from, const cJSON *item, model_config *config,
                                    ssm2d_error *error)
{
    char shown[SHOWN];
    ssm2d_status status = SSM2D_OK;
    if (cJSON_IsNull(item)) return model_config_use_mixer(config, &mixer_none, error);
    const int is_object = cJSON_IsObject(item);
    const cJSON *kind = is_object ? cJSON_GetObjectItemCaseSensitive(item, "kind") : item;
    if (kind)
        status = set_kind(from, is_object ? "mixer.kind" : "mixer",
                          cJSON_IsString(kind) ? kind->valuestring : "",
                          json_show(kind, shown, sizeof shown), config, error);
    if (status || !is_object) return status;
    if (config->mixer.kind == &mixer_none && (!kind || item->child->next))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"mixer\" has settings, but no \"kind\" that has any: give one, such as "
                    "\"kind\": \"ssm2d\"",
                    from.where);
    from.prefix = mixer_prefix;
    return mixer_config_from_json(from, item, &config->mixer, error);
}

/* Sets the original defaults of keys that the file may lack. */
static ssm2d_status set_missing(field_source from, model_config *config, ssm2d_error *error)
{
    char key[MODEL_KEY], value[MODEL_KEY];
    const char *rest = config->model->missing;
    int length;
    ssm2d_status status = SSM2D_OK;
    while (!status && rest && sscanf(rest, " %47[a-z_]=%47s%n", key, value, &length) == 2) {
        status = model_config_set(from, key, value, config, error);
        rest += length;
    }
    return status;
}

ssm2d_status model_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, model_config *config,
                                    ssm2d_error *error)
{
    char shown[SHOWN];
    model_config result = *config;
    const field_source from = {.where = text_path(file)};
    ssm2d_status status = SSM2D_OK;
    if (!cJSON_IsObject(object))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the configuration is %s: use an object {..}",
                    from.where, json_show(object, shown, sizeof shown));
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "model");
    if (name && !cJSON_IsString(name))
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"model\" is %s: use a name of `ssm2d models`",
                 from.where, json_show(name, shown, sizeof shown));
    else if (name && !(status = set_model(from, name->valuestring, &result, error)))
        status = set_missing(from, &result, error);
    else if (!name && !result.model)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"model\" is missing", from.where);
    for (const cJSON *item = object->child; item && !status; item = item->next) {
        const void *place;
        const ssm2d_field *f = find(&result, item->string, &place);
        if (f)
            status = field_from_json(from, f, item, (void *)place, error);
        else if (!strcmp(item->string, "mixer"))
            status = mixer_from_json(from, item, &result, error);
        else if (item != name && !name_in_list(item->string, others))
            status = refuse_key(from, item->string, others, &result, error);
    }
    if (!status) *config = result;
    return status;
}

ssm2d_status model_config_read(const ssm2d_context *context, const char *path, model_config *config,
                               ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = json_read(context, path, &root, error);
    if (status) return status;
    status = model_config_from_json(path, root, NULL, config, error);
    cJSON_Delete(root);
    return status;
}

cJSON *model_config_to_json(const model_config *c)
{
    cJSON *root = cJSON_CreateObject(), *mixer_object = mixer_config_to_json(&c->mixer);
    int good = root && mixer_object && cJSON_AddStringToObject(root, "model", c->model->name);
    for (const ssm2d_field *f = common_fields; f->name && good; f++)
        good = field_add_to_json(root, f, c);
    for (const ssm2d_field *f = c->model->family->fields; f->name && good; f++)
        good = field_add_to_json(root, f, c->own);
    if (good && cJSON_AddItemToObject(root, "mixer", mixer_object)) return root;
    cJSON_Delete(mixer_object);
    cJSON_Delete(root);
    return NULL;
}

int model_config_same(const model_config *a, const model_config *b)
{
    cJSON *one = model_config_to_json(a), *two = model_config_to_json(b);
    const int same = one && two && cJSON_Compare(one, two, 1);
    cJSON_Delete(one);
    cJSON_Delete(two);
    return same;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Refuses a field out of bounds, or one that the model leaves open and that was not given. */
static ssm2d_status check_field(const model_config *c, const ssm2d_field *f, const void *config,
                                ssm2d_error *error)
{
    char text[SHOWN];
    field_print(f, config, text, sizeof text);
    const int open = !strcmp(text, "0") || !strcmp(text, "0x0") || !*text;
    if (open && f->minimum > 0)
        return fail(error, SSM2D_ERROR_ARGUMENT, "model %s has no default for \"%s\": give it",
                    c->model->name, f->name);
    if (!field_check((field_source){0}, f, config, NULL)) return SSM2D_OK;
    char values[160];
    return fail(error, SSM2D_ERROR_ARGUMENT, "\"%s\" is %s: use %s", f->name, text,
                field_values(f, values, sizeof values));
}

ssm2d_status model_config_finish(model_config *c, ssm2d_error *error)
{
    if (!c->model) return fail(error, SSM2D_ERROR_ARGUMENT, "the model has no name");
    ssm2d_status status = SSM2D_OK;
    for (const ssm2d_field *f = common_fields; f->name && !status; f++)
        status = check_field(c, f, c, error);
    if (!status && c->model->family->fill) c->model->family->fill(c);
    for (const ssm2d_field *f = c->model->family->fields; f->name && !status; f++)
        status = check_field(c, f, c->own, error);
    return status ? status : c->model->family->check(c, error);
}

ssm2d_status model_config_resize(model_config *c, const int image[2], ssm2d_error *error)
{
    memcpy(c->image, image, sizeof c->image);
    if (c->model->family->adapt) c->model->family->adapt(c);
    return model_config_finish(c, error);
}
