#include "mixers/layer_json.h"

#include "core/status.h"
#include "io/field_json.h"
#include "io/json.h"
#include "io/text.h"
#include "layers/ssm2d/ssm2d_config.h"

#include <string.h>

enum { MAX_NAMES = 64, SHOWN = 64 };

static const ssm2d_field *layer_field(const char *name)
{
    return field_find(layer_ssm2d.fields, name);
}

/* ---- older keys ----------------------------------------------------------------------------- */

/* Only the 2-D SSM has keys of earlier versions. */
static const char *const old_keys[] = {"complex", "complex_form", "normalize", "trunc", NULL};
static const char *const no_keys[] = {NULL};

const char *const *layer_old_keys(const layer_kind *kind)
{
    return kind == &layer_ssm2d ? old_keys : no_keys;
}

static const char *const form_names[] = {"polar", "cartesian", NULL};
static const ssm2d_values form_values[] = {SSM2D_POLAR, SSM2D_CARTESIAN};

/* Fields for the older keys, used for error messages. */
static const ssm2d_field complex_field = {.name = "complex", .kind = SSM2D_KIND_FLAG};
static const ssm2d_field form_field = {
    .name = "complex_form", .kind = SSM2D_KIND_CHOICE, .names = form_names};

static ssm2d_status set_complex(field_source from, const cJSON *value, ssm2d_config *config,
                                ssm2d_error *error)
{
    int is_complex = 0;
    ssm2d_status status = field_from_json(from, &complex_field, value, &is_complex, error);
    if (status) return status;
    if (!is_complex) config->values = SSM2D_REAL;
    if (is_complex && config->values == SSM2D_REAL) config->values = SSM2D_POLAR;
    return SSM2D_OK;
}

static ssm2d_status set_form(field_source from, const cJSON *value, ssm2d_config *config,
                             ssm2d_error *error)
{
    int form = 0;
    ssm2d_status status = field_from_json(from, &form_field, value, &form, error);
    if (status) return status;
    if (config->values == SSM2D_REAL)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"%scomplex_form\" is %s, but the layer is real: use \"%svalues\"",
                    from.where, from.prefix ? from.prefix : "", form_names[form],
                    from.prefix ? from.prefix : "");
    config->values = form_values[form];
    return SSM2D_OK;
}

static ssm2d_status set_trunc(field_source from, const cJSON *value, ssm2d_config *config,
                              ssm2d_error *error)
{
    static const char *const names[] = {"trunc_rows", "trunc_cols"};
    int sides[2] = {0, 0};
    int good = cJSON_IsNull(value) || (cJSON_IsArray(value) && cJSON_GetArraySize(value) == 2);
    const cJSON *side = value->child;
    for (int i = 0; good && side; i++, side = side->next) {
        good = cJSON_IsNumber(side) && field_takes(layer_field(names[i]), side->valuedouble)
               && side->valuedouble > 0;
        if (good) sides[i] = (int)side->valuedouble;
    }
    char shown[SHOWN];
    if (!good)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"%strunc\" is %s: use null or [rows, cols], each from 1 to %.0f",
                    from.where, from.prefix ? from.prefix : "",
                    json_show(value, shown, sizeof shown), layer_field(names[0])->maximum);
    config->trunc_rows = sides[0];
    config->trunc_cols = sides[1];
    return SSM2D_OK;
}

static ssm2d_status set_old(field_source from, const char *key, const cJSON *value,
                            ssm2d_config *config, ssm2d_error *error)
{
    if (!strcmp(key, "complex")) return set_complex(from, value, config, error);
    if (!strcmp(key, "complex_form")) return set_form(from, value, config, error);
    if (!strcmp(key, "trunc")) return set_trunc(from, value, config, error);
    ssm2d_field normalize = *layer_field("layer_norm");
    normalize.name = "normalize";
    return field_from_json(from, &normalize, value, config, error);
}

/* Refuses two keys for the same field, as it is unclear which one is meant. */
static ssm2d_status check_pairs(const char *where, const cJSON *object, ssm2d_error *error)
{
    static const char *const pairs[][2] = {
        {"values", "complex"},   {"values", "complex_form"}, {"layer_norm", "normalize"},
        {"trunc_rows", "trunc"}, {"trunc_cols", "trunc"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (cJSON_GetObjectItemCaseSensitive(object, pairs[i][0])
            && cJSON_GetObjectItemCaseSensitive(object, pairs[i][1]))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: \"%s\" and \"%s\" set the same field: give only one of them", where,
                        pairs[i][0], pairs[i][1]);
    return SSM2D_OK;
}

/* Reads `complex` before `complex_form`, which is ignored if it is null or if complex is false. */
ssm2d_status layer_read_old(field_source from, const cJSON *object, const layer_kind *kind,
                            layer_values *values, ssm2d_error *error)
{
    if (kind != &layer_ssm2d) return SSM2D_OK;
    ssm2d_status status = check_pairs(from.where, object, error);
    const cJSON *is_complex = cJSON_GetObjectItemCaseSensitive(object, "complex");
    const cJSON *form = cJSON_GetObjectItemCaseSensitive(object, "complex_form");
    for (int i = 0; old_keys[i] && !status; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, old_keys[i]);
        if (!value || (value == form && (cJSON_IsNull(form) || cJSON_IsFalse(is_complex))))
            continue;
        status = set_old(from, old_keys[i], value, ssm2d_config_of(values), error);
    }
    return status;
}

/* ---- keys that a file leaves out ------------------------------------------------------------- */

void layer_model_defaults(const layer_kind *kind, layer_values *values)
{
    if (kind == &layer_ssm2d) ssm2d_config_of(values)->assign = SSM2D_ASSIGN_AUTHORS;
}

ssm2d_layer layer_file_default(const layer_kind *kind)
{
    ssm2d_layer layer = layer_default(kind);
    if (kind != &layer_ssm2d) return layer;
    ssm2d_config *config = ssm2d_config_of(&layer.values);
    config->directions = 2;
    config->n_ssm = 8;
    config->assign = SSM2D_ASSIGN_AUTHORS;
    return layer;
}

/* ---- all keys -------------------------------------------------------------------------------- */

int name_in_list(const char *name, const char *const *list)
{
    while (list && *list && strcmp(*list, name)) list++;
    return list && *list;
}

static ssm2d_status refuse_key(field_source from, const char *key, const layer_kind *kind,
                               const char *const *others, ssm2d_error *error)
{
    const char *names[MAX_NAMES + 1] = {0};
    const char *const *old = layer_old_keys(kind);
    size_t n = 0;
    for (const ssm2d_field *f = kind->fields; f->name && n < MAX_NAMES; f++) names[n++] = f->name;
    for (; *old && n < MAX_NAMES; old++) names[n++] = *old;
    for (; others && *others && n < MAX_NAMES; others++) names[n++] = *others;
    return field_refuse_key(from, key, names, error);
}

ssm2d_status layer_from_json(const char *file, const cJSON *object, const char *const *others,
                             ssm2d_layer *layer, ssm2d_error *error)
{
    char shown[SHOWN];
    ssm2d_layer result = *layer;
    const field_source from = {.where = text_path(file)};
    if (!cJSON_IsObject(object))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the configuration is %s: use an object {..}",
                    from.where, json_show(object, shown, sizeof shown));
    ssm2d_status status = layer_read_old(from, object, layer->kind, &result.values, error);
    for (const cJSON *item = object->child; item && !status; item = item->next) {
        const ssm2d_field *field = field_find(layer->kind->fields, item->string);
        /* in cases of S4ND and EMA null means the default */
        if (field && cJSON_IsNull(item) && layer->kind != &layer_ssm2d) continue;
        if (field)
            status = field_from_json(from, field, item, &result.values, error);
        else if (!name_in_list(item->string, layer_old_keys(layer->kind))
                 && !name_in_list(item->string, others))
            status = refuse_key(from, item->string, layer->kind, others, error);
    }
    if (!status) *layer = result;
    return status;
}
