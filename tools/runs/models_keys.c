#include "models_keys.h"

#include "core/status.h"
#include "io/json.h"
#include "models/model.h"
#include "tools/written.h"

#include <stdio.h>
#include <string.h>

/* ---- as text --------------------------------------------------------------------------------- */

/* Prints a line for a key; for a choice with its names, unless the help mentions them all. */
static void print_key(const char *key, const char *help, const ssm2d_field *f)
{
    int unsaid = 0;
    const char *const *names = f && f->kind == SSM2D_KIND_CHOICE ? f->names : NULL;
    for (int i = 0; names && names[i]; i++) unsaid |= !strstr(help, names[i]);
    printf("%-24s%s", key, help);
    for (int i = 0; unsaid && names[i]; i++) printf("%s%s", i ? ", " : " (", names[i]);
    printf("%s\n", unsaid ? ")" : "");
}

static const ssm2d_field *mixer_field(const layer_kind *kind, const char *name)
{
    const ssm2d_field *place = mixer_place_field();
    return strcmp(place->name, name) ? field_find(mixer_fields(kind), name) : place;
}

static ssm2d_status print_families(ssm2d_error *error)
{
    char key[MODEL_KEY];
    const char *help;
    const model *m;
    const model_family *last = NULL;
    for (int i = 0; (m = model_at(i)); i++) {
        model_config c;
        if (m->family == last) continue;
        last = m->family;
        ssm2d_status status = model_config_named(m->name, &c, error);
        if (status) return status;
        printf("%skeys of a model of the family %s:\n\n", i ? "\n" : "", m->family->name);
        for (int k = 0; model_config_key(&c, k, key, &help); k++) {
            const ssm2d_field *f = field_find(model_common_fields(), key);
            print_key(key, help, f ? f : field_find(m->family->fields, key));
        }
    }
    return SSM2D_OK;
}

static void print_mixers(void)
{
    char key[MODEL_KEY];
    const char *help, *name;
    for (int i = 0; mixer_at(i); i++) {
        mixer_config c;
        if (mixer_at(i) == &mixer_none) continue;
        mixer_config_default(mixer_at(i), &c);
        printf("\nkeys of the mixer %s, %s:\n\n", c.kind->name, c.kind->help);
        for (int k = 0; mixer_config_key(&c, k, &name, &help); k++) {
            snprintf(key, sizeof key, "mixer.%s", name);
            print_key(key, help, mixer_field(c.kind, name));
        }
    }
}

ssm2d_status models_keys_text(ssm2d_error *error)
{
    const ssm2d_status status = print_families(error);
    if (!status) print_mixers();
    return status;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static const char *const kind_names[] = {
    [SSM2D_KIND_INT] = "int",       [SSM2D_KIND_REAL] = "real", [SSM2D_KIND_FLAG] = "flag",
    [SSM2D_KIND_CHOICE] = "choice", [SSM2D_KIND_TEXT] = "text", [SSM2D_KIND_PAIR] = "pair",
    [SSM2D_KIND_LIST] = "list"};

/* Adds the valid values of a field: names, a list of integers, or bounds. */
static int add_values(cJSON *entry, const ssm2d_field *f)
{
    cJSON *list;
    int good = 1;
    if (f->kind == SSM2D_KIND_FLAG || f->kind == SSM2D_KIND_TEXT) return 1;
    if (f->kind == SSM2D_KIND_CHOICE) {
        good = (list = cJSON_AddArrayToObject(entry, "choices")) != NULL;
        for (int i = 0; good && f->names[i]; i++)
            good = json_add(list, NULL, cJSON_CreateString(f->names[i]));
        return good;
    }
    if (f->allowed) {
        good = (list = cJSON_AddArrayToObject(entry, "allowed")) != NULL;
        for (int i = 0; good && f->allowed[i]; i++)
            good = json_add(list, NULL, cJSON_CreateNumber(f->allowed[i]));
        return good;
    }
    return cJSON_AddNumberToObject(entry, "minimum", f->minimum)
           && cJSON_AddNumberToObject(entry, "maximum", f->maximum);
}

static int add_field(cJSON *object, const ssm2d_field *f)
{
    cJSON *entry = cJSON_AddObjectToObject(object, f->name);
    return entry && cJSON_AddStringToObject(entry, "kind", kind_names[f->kind])
           && add_values(entry, f) && cJSON_AddStringToObject(entry, "help", f->help);
}

static int add_fields(cJSON *object, const ssm2d_field *fields)
{
    int good = 1;
    for (const ssm2d_field *f = fields; f->name && good; f++) good = add_field(object, f);
    return good;
}

/* Adds every family once, in the order of its first model. */
static int add_families(cJSON *root)
{
    cJSON *families = cJSON_AddObjectToObject(root, "families"), *fields;
    const model *m;
    int good = families != NULL;
    for (int i = 0; good && (m = model_any(i)); i++) {
        if (cJSON_GetObjectItemCaseSensitive(families, m->family->name)) continue;
        fields = cJSON_AddObjectToObject(families, m->family->name);
        good = fields && add_fields(fields, model_common_fields())
               && add_fields(fields, m->family->fields);
    }
    return good;
}

static int add_mixers(cJSON *root)
{
    cJSON *mixers = cJSON_AddObjectToObject(root, "mixers");
    const layer_kind *kind;
    int good = mixers != NULL;
    for (int i = 0; good && (kind = mixer_at(i)); i++) {
        cJSON *fields = cJSON_AddObjectToObject(mixers, kind->name);
        good = fields && (kind == &mixer_none || add_field(fields, mixer_place_field()))
               && add_fields(fields, mixer_fields(kind));
    }
    return good;
}

/* Adds the values of a model's keys; keys with 0 or an empty list must be given. */
static int add_model(cJSON *models, const model *m)
{
    model_config c;
    const layer_kind *kind;
    cJSON *entry = cJSON_AddObjectToObject(models, m->name), *mixers = NULL, *config = NULL;
    int good = entry && !model_config_named(m->name, &c, NULL)
               && cJSON_AddStringToObject(entry, "family", m->family->name)
               && cJSON_AddStringToObject(entry, "mixer", model_default_mixer(m)->name)
               && (config = model_config_to_json(&c));
    if (good) {
        cJSON_DeleteItemFromObjectCaseSensitive(config, "mixer");
        good = json_add(entry, "config", config)
               && (mixers = cJSON_AddObjectToObject(entry, "mixers"));
    }
    for (int i = 0; good && (kind = mixer_at(i)); i++)
        good = !model_config_use_mixer(&c, kind, NULL)
               && json_add(mixers, kind->name, mixer_config_to_json(&c.mixer));
    return good;
}

static int add_models(cJSON *root)
{
    cJSON *models = cJSON_AddObjectToObject(root, "models");
    const model *m;
    int good = models != NULL;
    for (int i = 0; good && (m = model_any(i)); i++) good = add_model(models, m);
    return good;
}

ssm2d_status models_keys_json(ssm2d_error *error)
{
    cJSON *root = cJSON_CreateObject();
    const int good = root && add_families(root) && add_mixers(root) && add_models(root);
    return result_print(root, good, JSON_INDENTED, error);
}
