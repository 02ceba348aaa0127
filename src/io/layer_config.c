#include "io/layer_config.h"

#include "core/status.h"
#include "io/json.h"
#include "io/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 40, NAMES_MOST = 64 };

/* ---- suggestions ----------------------------------------------------------------------------- */

/* Letters to insert, remove, change or swap with their neighbour, to make one of the other; case
 * does not count. */
static int distance(const char *a, const char *b)
{
    int d[3][NAME_MOST + 1], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) d[0][j] = j;
    int i = 0;
    for (; a[i]; i++) {
        int *two = d[(i + 2) % 3], *one = d[i % 3], *now = d[(i + 1) % 3];
        now[0] = i + 1;
        for (int j = 0; j < n; j++) {
            int x = tolower((unsigned char)a[i]), y = tolower((unsigned char)b[j]),
                best = one[j] + (x != y);
            if (best > one[j + 1] + 1) best = one[j + 1] + 1;
            if (best > now[j] + 1) best = now[j] + 1;
            if (i && j && x == tolower((unsigned char)b[j - 1])
                && y == tolower((unsigned char)a[i - 1]) && best > two[j - 1] + 1)
                best = two[j - 1] + 1;
            now[j + 1] = best;
        }
    }
    return d[i % 3][n];
}

const char *closest_name(const char *wrong, const char *const *names)
{
    const char *found = NULL;
    size_t length = strlen(wrong);
    if (!length || length > NAME_MOST) return NULL;
    int best = (int)length / 3 + 1; /* beyond that it is another word */
    if (best >= (int)length) best = (int)length - 1;
    for (; *names; names++) {
        if (strlen(*names) > NAME_MOST) continue;
        int d = distance(wrong, *names);
        if (d <= best && (!found || d < best)) {
            found = *names;
            best = d;
        }
    }
    return found;
}

/* ": did you mean X?" or nothing */
static void suggest(const char *wrong, const char *const *names, char *out, size_t size)
{
    const char *name = closest_name(wrong, names);
    if (name)
        snprintf(out, size, ": did you mean \"%s\"?", name);
    else
        *out = 0;
}

/* ---- one field ------------------------------------------------------------------------------- */

/* "1, 2 or 4"; "a whole number from 1 to 64"; "real, polar or cartesian"; "true or false" */
static void field_choices(const ssm2d_field *field, char *out, size_t size)
{
    if (!field->names && !field->allowed) {
        snprintf(out, size, "a whole number from %d to %d", field->minimum, field->maximum);
        return;
    }
    int count = 0;
    while (field->names ? count <= field->maximum - field->minimum : field->allowed[count]) count++;
    size_t used = 0;
    *out = 0;
    for (int i = 0; i < count && used < size; i++) {
        const char *between = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        used +=
            (size_t)(field->names
                         ? snprintf(out + used, size - used, "%s%s", between, field->names[i])
                         : snprintf(out + used, size - used, "%s%d", between, field->allowed[i]));
    }
}

static int is_flag(const ssm2d_field *field)
{
    return field->names && !strcmp(field->names[0], "false");
}

/* Whether item is a value of the field. */
static int field_value(const ssm2d_field *field, const cJSON *item, int *value)
{
    if (is_flag(field)) {
        *value = cJSON_IsTrue(item);
        return cJSON_IsBool(item);
    }
    if (field->names) {
        for (int i = field->minimum; i <= field->maximum; i++) {
            *value = i;
            if (cJSON_IsString(item)
                && !strcmp(item->valuestring, field->names[i - field->minimum]))
                return 1;
        }
        return 0;
    }
    double d = cJSON_IsNumber(item) ? item->valuedouble : field->minimum - 1.0;
    if (!(d >= field->minimum && d <= field->maximum) || d != (int)d) return 0;
    *value = (int)d;
    const int *a = field->allowed;
    while (a && *a && *a != *value) a++;
    return !a || *a;
}

static ssm2d_status set_field(const char *file, const ssm2d_field *field, const cJSON *item,
                              ssm2d_config *config, ssm2d_error *error)
{
    int value = 0;
    char shown[64], choices[96];
    if (!field_value(field, item, &value)) {
        field_choices(field, choices, sizeof choices);
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use %s", text_path(file),
                    item->string, json_show(item, shown, sizeof shown), choices);
    }
    memcpy((char *)config + field->offset, &value, sizeof value);
    return SSM2D_OK;
}

static const ssm2d_field *field_named(const char *name)
{
    size_t count;
    const ssm2d_field *fields = ssm2d_config_fields(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(fields[i].name, name)) return &fields[i];
    return NULL;
}

/* ---- the forms that stand for other fields --------------------------------------------------- */

static const char *const forms[] = {"complex", "complex_form", "normalize", "trunc", NULL};

/* `complex` with `complex_form`, which says nothing when complex is false. */
static ssm2d_status set_complex(const char *file, const cJSON *object, ssm2d_config *config,
                                ssm2d_error *error)
{
    int is_complex = 0;
    const char *form = NULL;
    char shown[64];
    if (!cJSON_GetObjectItemCaseSensitive(object, "complex")
        && !cJSON_GetObjectItemCaseSensitive(object, "complex_form"))
        return SSM2D_OK;
    ssm2d_status status = json_get_bool(file, object, "complex", JSON_REQUIRED, &is_complex, error);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "complex_form");
    if (!status && item && !cJSON_IsNull(item))
        status = json_get_string(file, object, "complex_form", JSON_REQUIRED, &form, error);
    if (status) return status;
    if (form && strcmp(form, "polar") && strcmp(form, "cartesian"))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"complex_form\" is %s: use polar or cartesian", text_path(file),
                    json_show(item, shown, sizeof shown));
    config->values = !is_complex                          ? SSM2D_REAL
                     : form && !strcmp(form, "cartesian") ? SSM2D_CARTESIAN
                                                          : SSM2D_POLAR;
    return SSM2D_OK;
}

/* `trunc`: null or [rows, cols] */
static ssm2d_status set_trunc(const char *file, const cJSON *item, ssm2d_config *config,
                              ssm2d_error *error)
{
    static const char *const names[] = {"trunc_rows", "trunc_cols"};
    int value[2] = {0, 0},
        good = cJSON_IsNull(item) || (cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2);
    const cJSON *size = item->child;
    for (int i = 0; good && size; i++, size = size->next)
        good = field_value(field_named(names[i]), size, &value[i]) && value[i];
    char shown[64];
    if (!good)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"trunc\" is %s: use null or [rows, cols], each from 1 to %d",
                    text_path(file), json_show(item, shown, sizeof shown),
                    field_named(names[0])->maximum);
    config->trunc_rows = value[0];
    config->trunc_cols = value[1];
    return SSM2D_OK;
}

static int in_list(const char *name, const char *const *list)
{
    while (list && *list && strcmp(*list, name)) list++;
    return list && *list;
}

/* Two keys for one thing: which of them counts would be a guess. */
static ssm2d_status check_pairs(const char *file, const cJSON *object, ssm2d_error *error)
{
    static const char *const pairs[][2] = {
        {"values", "complex"},   {"values", "complex_form"}, {"layer_norm", "normalize"},
        {"trunc_rows", "trunc"}, {"trunc_cols", "trunc"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (cJSON_GetObjectItemCaseSensitive(object, pairs[i][0])
            && cJSON_GetObjectItemCaseSensitive(object, pairs[i][1]))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: \"%s\" and \"%s\" say the same: give one of them", text_path(file),
                        pairs[i][0], pairs[i][1]);
    return SSM2D_OK;
}

static ssm2d_status refuse_key(const char *file, const char *key, const char *const *others,
                               ssm2d_error *error)
{
    const char *names[NAMES_MOST + 1] = {0};
    size_t count, n = 0;
    const ssm2d_field *fields = ssm2d_config_fields(&count);
    for (size_t i = 0; i < count && n < NAMES_MOST; i++) names[n++] = fields[i].name;
    for (size_t i = 0; forms[i] && n < NAMES_MOST; i++) names[n++] = forms[i];
    for (; others && *others && n < NAMES_MOST; others++) names[n++] = *others;
    char shown[48], hint[64];
    suggest(key, names, hint, sizeof hint);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is not a known key%s", text_path(file),
                text_show(key, strlen(key), shown, sizeof shown), hint);
}

ssm2d_status layer_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, ssm2d_config *config,
                                    ssm2d_error *error)
{
    char shown[64];
    ssm2d_config result = *config;
    if (!cJSON_IsObject(object))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the configuration is %s: use an object {..}",
                    text_path(file), json_show(object, shown, sizeof shown));
    ssm2d_status status = check_pairs(file, object, error);
    if (!status) status = set_complex(file, object, &result, error);
    for (const cJSON *item = object->child; item && !status; item = item->next) {
        const ssm2d_field *field = field_named(item->string);
        if (field)
            status = set_field(file, field, item, &result, error);
        else if (!strcmp(item->string, "normalize"))
            status = set_field(file, field_named("layer_norm"), item, &result, error);
        else if (!strcmp(item->string, "trunc"))
            status = set_trunc(file, item, &result, error);
        else if (!in_list(item->string, forms) && !in_list(item->string, others))
            status = refuse_key(file, item->string, others, error);
    }
    if (!status) *config = result;
    return status;
}
