/* fields - the keys of a model's configuration: one table for JSON, --set and help. */
#include "models/fields.h"

#include "core/status.h"
#include "core/suggest.h"
#include "io/json.h"
#include "io/layer_config.h"
#include "io/text.h"
#include "models/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(kind, name, low, high, help)                                                         \
    {                                                                                              \
#name, help, FIELD_##kind, offsetof(model_config, name), low, high                         \
    }

/* Bounds are such that products of three fit an int. */
const model_field model_fields[] = {
    FIELD(IMAGE, image, 1, 16384,
          "rows and columns of an image in pixels: [32, 48], or one number for a square"),
    FIELD(INT, channels, 1, 512, "colours of an image: 3, or 1 for grey"),
    FIELD(INT, patch, 1, 1024, "side of a patch in pixels"),
    FIELD(INT, dim, 1, 16384, "numbers per token"),
    FIELD(INT, depth, 1, 1024, "blocks"),
    FIELD(INT, heads, 1, 1024, "attention heads; they divide dim"),
    FIELD(REAL, mlp_ratio, 0.01, 64, "hidden width of the MLP, as a multiple of dim"),
    FIELD(FLAG, qkv_bias, 0, 1, "a bias on q, k and v"),
    FIELD(REAL, norm_eps, 1e-12, 1, "eps of every LayerNorm but the mixer's"),
    FIELD(FLAG, pos_embed, 0, 1, "a learned position embedding"),
    FIELD(REAL, drop_path, 0, 0.99,
          "stochastic depth: the rate at which a branch is left out in training"),
    FIELD(INT, classes, 1, 1 << 20, "numbers that come out"),
};
const int model_field_count = sizeof model_fields / sizeof *model_fields;

static const char model_help[] = "a name of `ssm2d models`, from which all other values start";
static const char mixer_help[] =
    "what mixes patches inside a block: none or ssm2d; in a file, null or an object";
static const char place_help[] = "where the mixer is: attn (feeding attention), block (before the "
                                 "block) or ffn (inside the MLP; of a model that reads "
                                 "the class token, the last block's then has no effect)";
static const char init_help[] =
    "how the mixer starts: identity (close to none) or authors (as published)";

/* ---- plain values ---------------------------------------------------------------------------- */

static int whole(const cJSON *item, const model_field *f, int *value)
{
    const double d = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    if (!(d >= f->low && d <= f->high) || d != (int)d) return 0;
    *value = (int)d;
    return 1;
}

static int image_size(const cJSON *item, const model_field *f, int *image)
{
    if (whole(item, f, &image[0])) return image[1] = image[0], 1;
    return cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2 && whole(item->child, f, &image[0])
           && whole(item->child->next, f, &image[1]);
}

static ssm2d_status set_field(const char *file, const model_field *f, const cJSON *item,
                              model_config *config, ssm2d_error *error)
{
    void *place = (char *)config + f->offset;
    char shown[64];
    switch (f->kind) {
    case FIELD_INT:
        if (whole(item, f, place)) return SSM2D_OK;
        break;
    case FIELD_IMAGE:
        if (image_size(item, f, place)) return SSM2D_OK;
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"%s\" is %s: use [rows, columns], each from %.15g to %.15g",
                    text_path(file), f->name, json_show(item, shown, sizeof shown), f->low,
                    f->high);
    case FIELD_REAL:
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= f->low && item->valuedouble <= f->high))
            break;
        *(double *)place = item->valuedouble;
        return SSM2D_OK;
    case FIELD_FLAG:
        if (!cJSON_IsBool(item))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use true or false",
                        text_path(file), f->name, json_show(item, shown, sizeof shown));
        *(int *)place = cJSON_IsTrue(item);
        return SSM2D_OK;
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use a %s from %.15g to %.15g",
                text_path(file), f->name, json_show(item, shown, sizeof shown),
                f->kind == FIELD_INT ? "whole number" : "number", f->low, f->high);
}

/* ---- the mixer ------------------------------------------------------------------------------- */

static ssm2d_status set_kind(const char *file, const cJSON *item, mixer_config *m,
                             ssm2d_error *error)
{
    char shown[64];
    const char *name = cJSON_IsString(item) ? item->valuestring : "";
    const mixer *kind = mixer_find(name);
    if (kind) {
        m->kind = kind;
        return SSM2D_OK;
    }
    if (!strcmp(name, "s4nd") || !strcmp(name, "ema"))
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: mixer \"%s\" comes later: use none or ssm2d", text_path(file), name);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use none or ssm2d", text_path(file),
                item->string, json_show(item, shown, sizeof shown));
}

/* One of a NULL-ended list of names. */
static ssm2d_status set_choice(const char *file, const cJSON *item, const char *const *names,
                               int *value, ssm2d_error *error)
{
    char shown[64], list[64] = "";
    for (int i = 0; names[i]; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 !i             ? ""
                 : names[i + 1] ? ", "
                                : " or ",
                 names[i]);
        if (!cJSON_IsString(item) || strcmp(item->valuestring, names[i])) continue;
        *value = i;
        return SSM2D_OK;
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use %s", text_path(file),
                item->string, json_show(item, shown, sizeof shown), list);
}

static ssm2d_status set_mixer(const char *file, const cJSON *item, mixer_config *config,
                              ssm2d_error *error)
{
    static const char *const others[] = {"kind", "place", "init", NULL};
    mixer_config m = *config;
    int place = (int)m.place, init = (int)m.init;
    ssm2d_status status = SSM2D_OK;
    if (cJSON_IsNull(item)) {
        config->kind = &mixer_none;
        return SSM2D_OK;
    }
    if (!cJSON_IsObject(item)) return set_kind(file, item, config, error);
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(item, "kind");
    if (kind) status = set_kind(file, kind, &m, error);
    for (const cJSON *key = item->child; key && !status; key = key->next) {
        if (!strcmp(key->string, "place"))
            status = set_choice(file, key, mixer_place_names, &place, error);
        else if (!strcmp(key->string, "init"))
            status = set_choice(file, key, mixer_init_names, &init, error);
        else if (!strcmp(key->string, "channels"))
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "%s: the \"channels\" of \"mixer\" follow from the model: leave them out",
                          text_path(file));
    }
    if (!status) status = layer_config_from_json(file, item, others, &m.layer, error);
    if (!status && m.kind == &mixer_none && (!kind || item->child->next))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: \"mixer\" has options but its \"kind\" is none: give \"kind\": "
                      "\"ssm2d\" with or before them",
                      text_path(file));
    m.place = (mixer_place)place;
    m.init = (ssm2d_init)init;
    if (!status) *config = m;
    return status;
}

/* ---- objects --------------------------------------------------------------------------------- */

static const model_field *find(const char *name)
{
    for (int i = 0; i < model_field_count; i++)
        if (!strcmp(model_fields[i].name, name)) return &model_fields[i];
    return NULL;
}

static int in_list(const char *name, const char *const *list)
{
    while (list && *list && strcmp(*list, name)) list++;
    return list && *list;
}

static ssm2d_status refuse_key(const char *file, const char *key, const char *const *others,
                               ssm2d_error *error)
{
    const char *names[64] = {"model", "mixer"};
    char shown[48];
    int n = 2;
    for (int i = 0; i < model_field_count; i++) names[n++] = model_fields[i].name;
    for (; others && *others && n < 63; others++) names[n++] = *others;
    const char *near = closest_name(key, names);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is not a known key%s%s%s", text_path(file),
                text_show(key, strlen(key), shown, sizeof shown), near ? ": did you mean \"" : "",
                near ? near : "", near ? "\"?" : "");
}

static ssm2d_status set_model(const char *file, const cJSON *item, model_config *config,
                              ssm2d_error *error)
{
    char shown[64];
    ssm2d_error why;
    if (!cJSON_IsString(item))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"model\" is %s: use a name of `ssm2d models`", text_path(file),
                    json_show(item, shown, sizeof shown));
    ssm2d_status status = model_config_named(item->valuestring, config, &why);
    return status ? fail(error, status, "%s: %s", text_path(file), why.line) : SSM2D_OK;
}

ssm2d_status model_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, model_config *config,
                                    ssm2d_error *error)
{
    char shown[64];
    model_config result = *config;
    ssm2d_status status = SSM2D_OK;
    if (!cJSON_IsObject(object))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the configuration is %s: use an object {..}",
                    text_path(file), json_show(object, shown, sizeof shown));
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "model");
    if (name)
        status = set_model(file, name, &result, error);
    else if (!result.model)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"model\" is missing", text_path(file));
    for (const cJSON *item = object->child; item && !status; item = item->next) {
        const model_field *f = find(item->string);
        if (f)
            status = set_field(file, f, item, &result, error);
        else if (!strcmp(item->string, "mixer"))
            status = set_mixer(file, item, &result.mixer, error);
        else if (item != name && !in_list(item->string, others))
            status = refuse_key(file, item->string, others, error);
    }
    if (!status) *config = result;
    return status;
}

/* An object of the one key, so that text and files go the same way. */
static cJSON *object_of(const char *key, const char *text)
{
    cJSON *value, *object = cJSON_CreateObject();
    if (!object) return NULL;
    if (!strncmp(key, "mixer.", 6))
        value = object_of(key + 6, text);
    else if (json_parse("", text, strlen(text), &value, NULL))
        value = cJSON_CreateString(text); /* a bare word */
    if (value && cJSON_AddItemToObject(object, strncmp(key, "mixer.", 6) ? key : "mixer", value))
        return object;
    cJSON_Delete(value);
    cJSON_Delete(object);
    return NULL;
}

ssm2d_status model_config_set(const char *where, const char *key, const char *text,
                              model_config *config, ssm2d_error *error)
{
    cJSON *object = object_of(key, text);
    if (!object)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for a value", text_path(where));
    ssm2d_status status = model_config_from_json(where, object, NULL, config, error);
    cJSON_Delete(object);
    return status;
}

static int give_key(const char *prefix, const char *name, char *key, size_t size)
{
    snprintf(key, size, "%s%s", prefix, name);
    return 1;
}

int model_config_key(int i, char *key, size_t size, const char **help)
{
    static const char *const more[][2] = {
        {"mixer", mixer_help}, {"mixer.place", place_help}, {"mixer.init", init_help}};
    const int more_count = sizeof more / sizeof *more;
    size_t layer_count;
    const ssm2d_field *layer = ssm2d_config_fields(&layer_count);
    *help = model_help;
    if (i < 0) return 0;
    if (i-- == 0) return give_key("", "model", key, size);
    if (i < model_field_count) {
        *help = model_fields[i].help;
        return give_key("", model_fields[i].name, key, size);
    }
    i -= model_field_count;
    if (i < more_count) {
        *help = more[i][1];
        return give_key("", more[i][0], key, size);
    }
    i -= more_count;
    for (size_t f = 0; f < layer_count; f++) {
        *help = layer[f].help;
        if (strcmp(layer[f].name, "channels") && i-- == 0)
            return give_key("mixer.", layer[f].name, key, size);
    }
    return 0;
}
