/* mixer_config - a mixer's configuration by keys: `place`, and the settings of its kind. */
#include "core/status.h"
#include "io/field_json.h"
#include "io/json.h"
#include "mixers/layer_json.h"
#include "mixers/mixer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 64, KEY = 40 };

static const char *const place_names[] = {
    [PLACE_ATTN] = "attn", [PLACE_BLOCK] = "block", [PLACE_FFN] = "ffn", NULL};

static const ssm2d_field place_field = {
    "place",
    "where the mixer is: attn (feeding attention), block (before the block) or ffn (inside the "
    "MLP; in models with a class token the mixer of the last block then has no effect)",
    SSM2D_KIND_CHOICE,
    offsetof(mixer_config, place),
    0,
    2,
    "attn",
    place_names,
    NULL};

const ssm2d_field *mixer_place_field(void) { return &place_field; }

void mixer_config_default(const layer_kind *kind, mixer_config *m)
{
    memset(m, 0, sizeof *m); /* includes padding: configurations are compared as bytes */
    m->kind = kind;
    m->values = layer_default(kind).values;
    field_set_default(&place_field, m);
}

/* Finds the field of that name and the struct that contains it. */
static const ssm2d_field *find(mixer_config *m, const char *key, void **config)
{
    *config = m;
    if (!strcmp(key, place_field.name)) return &place_field;
    *config = &m->values;
    return field_find(mixer_fields(m->kind), key);
}

/* A JSON object with one key. The text is parsed as JSON (a number, a list, true), else it becomes
 * a string. */
static cJSON *object_of(const char *key, const char *text)
{
    cJSON *value, *object = cJSON_CreateObject();
    const ssm2d_status status = json_parse("", text, strlen(text), &value, NULL);
    if (status && status != SSM2D_ERROR_MEMORY) value = cJSON_CreateString(text);
    if (object && value && cJSON_AddItemToObject(object, key, value)) return object;
    cJSON_Delete(value);
    cJSON_Delete(object);
    return NULL;
}

ssm2d_status mixer_config_set(field_source from, const char *key, const char *text, mixer_config *m,
                              int *known, ssm2d_error *error)
{
    void *config;
    const ssm2d_field *f = find(m, key, &config);
    *known = 1;
    if (f) return field_parse(from, f, text, config, error);
    *known = name_in_list(key, layer_old_keys(m->kind));
    if (!*known) return SSM2D_OK;
    cJSON *object = object_of(key, text);
    if (!object) return fail_memory(error, "%s: value", from.where);
    ssm2d_status status = layer_read_old(from, object, m->kind, &m->values, error);
    cJSON_Delete(object);
    return status;
}

ssm2d_status mixer_config_preset(const char *settings, mixer_config *m, ssm2d_error *error)
{
    char key[KEY], value[KEY];
    int length, known;
    while (sscanf(settings, " %39[a-z_0-9]=%39s%n", key, value, &length) == 2) {
        const field_source from = {.where = m->kind->name, .prefix = NULL};
        ssm2d_status status = mixer_config_set(from, key, value, m, &known, error);
        if (!status && !known)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s has no \"%s\"", m->kind->name, key);
        if (status) return status;
        settings += length;
    }
    return SSM2D_OK;
}

ssm2d_status mixer_config_refuse(field_source from, const mixer_config *m, const char *key,
                                 ssm2d_error *error)
{
    const char *names[MAX_NAMES + 1] = {"kind", place_field.name};
    int n = 2;
    if (!strcmp(key, "channels"))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: the \"channels\" of \"mixer\" follow from the model: leave them out",
                    from.where);
    for (const ssm2d_field *f = mixer_fields(m->kind); f->name && n < MAX_NAMES; f++)
        names[n++] = f->name;
    for (const char *const *old = layer_old_keys(m->kind); *old && n < MAX_NAMES; old++)
        names[n++] = *old;
    return field_refuse_key(from, key, names, error);
}

ssm2d_status mixer_config_from_json(field_source from, const cJSON *object, mixer_config *m,
                                    ssm2d_error *error)
{
    mixer_config result = *m;
    layer_model_defaults(m->kind, &result.values);
    ssm2d_status status = layer_read_old(from, object, m->kind, &result.values, error);
    for (const cJSON *item = object->child; item && !status; item = item->next) {
        void *config;
        const ssm2d_field *f = find(&result, item->string, &config);
        if (f)
            status = field_from_json(from, f, item, config, error);
        else if (strcmp(item->string, "kind")
                 && !name_in_list(item->string, layer_old_keys(m->kind)))
            status = mixer_config_refuse(from, m, item->string, error);
    }
    if (!status) *m = result;
    return status;
}

cJSON *mixer_config_to_json(const mixer_config *m)
{
    if (m->kind == &mixer_none) return cJSON_CreateNull();
    cJSON *object = cJSON_CreateObject();
    int good = object && cJSON_AddStringToObject(object, "kind", m->kind->name)
               && field_add_to_json(object, &place_field, m);
    for (const ssm2d_field *f = mixer_fields(m->kind); f->name && good; f++)
        good = field_add_to_json(object, f, &m->values);
    if (good) return object;
    cJSON_Delete(object);
    return NULL;
}

ssm2d_status mixer_config_check(const mixer_config *m, int channels, ssm2d_error *error)
{
    ssm2d_error why;
    if (m->kind == &mixer_none) return SSM2D_OK;
    const ssm2d_layer layer = mixer_layer(m, channels);
    const ssm2d_status status = layer_check(&layer, &why);
    return status ? fail(error, status, "\"mixer\": %s", why.line) : SSM2D_OK;
}

int mixer_config_key(const mixer_config *m, int i, const char **key, const char **help)
{
    if (i-- == 0) {
        *key = place_field.name;
        *help = place_field.help;
        return 1;
    }
    for (const ssm2d_field *f = mixer_fields(m->kind); f->name; f++) {
        if (i--) continue;
        *key = f->name;
        *help = f->help;
        return 1;
    }
    return 0;
}

/* Whether a description mentions a field: numbers unless 0; choices and flags unless default. */
static int is_mentioned(const mixer_config *m, const ssm2d_field *f, const char *value)
{
    if (f->kind == SSM2D_KIND_INT) return strcmp(value, "0") != 0;
    if (m->kind->headline && !strcmp(f->name, m->kind->headline)) return 1;
    return !f->default_value || strcmp(value, f->default_value);
}

const char *mixer_config_text(const mixer_config *m, char *text, size_t size)
{
    char value[64];
    size_t used = (size_t)snprintf(text, size, "%s", m->kind->name);
    const char *before = " (";
    for (const ssm2d_field *f = mixer_fields(m->kind); f->name && used < size; f++) {
        field_print(f, &m->values, value, sizeof value);
        if (!is_mentioned(m, f, value)) continue;
        const int bare = f->kind == SSM2D_KIND_CHOICE || f->kind == SSM2D_KIND_FLAG;
        const char *name = f->kind == SSM2D_KIND_CHOICE ? "" : f->name;
        const char *off = f->kind == SSM2D_KIND_FLAG && *value == 'f' ? "no " : "";
        if (f->kind == SSM2D_KIND_FLAG) *value = 0;
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s%s", before, off, name,
                                 bare ? "" : " ", value);
        before = ", ";
    }
    if (*before == ',' && used < size) snprintf(text + used, size - used, ")");
    return text;
}
