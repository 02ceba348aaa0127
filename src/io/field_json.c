#include "io/field_json.h"

#include "core/status.h"
#include "core/suggest.h"
#include "io/json.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 64 };

static double number_of(const cJSON *value)
{
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

/* Reads a list of integers, or a single one. Returns their count; 0 when value is neither, or has
 * more than max_count. */
static int integers_of(const ssm2d_field *f, const cJSON *value, int max_count, int *integers)
{
    int count = 0;
    if (field_takes(f, number_of(value))) {
        integers[0] = (int)value->valuedouble;
        return 1;
    }
    if (!cJSON_IsArray(value)) return 0;
    for (const cJSON *item = value->child; item; item = item->next) {
        if (count == max_count || !field_takes(f, number_of(item))) return 0;
        integers[count++] = (int)item->valuedouble;
    }
    return count;
}

ssm2d_status field_from_json(field_source from, const ssm2d_field *f, const cJSON *value,
                             void *config, ssm2d_error *error)
{
    char *place = (char *)config + f->offset, shown[SHOWN];
    int integers[SSM2D_LIST], count;
    ssm2d_list list = {0};
    switch (f->kind) {
    case SSM2D_KIND_INT:
        if (!field_takes(f, number_of(value))) break;
        memcpy(place, &(int){(int)value->valuedouble}, sizeof(int));
        return SSM2D_OK;
    case SSM2D_KIND_REAL:
        if (!field_takes(f, number_of(value))) break;
        memcpy(place, &(double){field_real(value->valuedouble)}, sizeof(double));
        return SSM2D_OK;
    case SSM2D_KIND_FLAG:
        if (!cJSON_IsBool(value)) break;
        memcpy(place, &(int){cJSON_IsTrue(value)}, sizeof(int));
        return SSM2D_OK;
    case SSM2D_KIND_CHOICE:
    case SSM2D_KIND_TEXT:
        if (!cJSON_IsString(value) || field_parse(from, f, value->valuestring, config, NULL)) break;
        return SSM2D_OK;
    case SSM2D_KIND_PAIR:
        count = integers_of(f, value, 2, integers);
        if (!count || (count == 1 && cJSON_IsArray(value))) break;
        integers[1] = integers[count - 1];
        memcpy(place, integers, 2 * sizeof *integers);
        return SSM2D_OK;
    case SSM2D_KIND_LIST:
        if (!(count = integers_of(f, value, SSM2D_LIST, integers))) break;
        list.count = count;
        memcpy(list.at, integers, (size_t)count * sizeof *integers);
        memcpy(place, &list, sizeof list);
        return SSM2D_OK;
    }
    return field_refuse(from, f, json_show(value, shown, sizeof shown), error);
}

/* Copies the field, because configurations may be unaligned bytes. */
static int int_at(const char *place)
{
    int value;
    memcpy(&value, place, sizeof value);
    return value;
}

/* Returns the field's value; NULL if out of memory. */
static cJSON *to_json(const ssm2d_field *f, const void *config)
{
    const char *place = (const char *)config + f->offset;
    int integers[2];
    double real;
    ssm2d_list list;
    switch (f->kind) {
    case SSM2D_KIND_INT: return cJSON_CreateNumber(int_at(place));
    case SSM2D_KIND_REAL: memcpy(&real, place, sizeof real); return cJSON_CreateNumber(real);
    case SSM2D_KIND_FLAG: return cJSON_CreateBool(int_at(place));
    case SSM2D_KIND_CHOICE: return cJSON_CreateString(f->names[int_at(place)]);
    case SSM2D_KIND_TEXT: return cJSON_CreateString(place);
    case SSM2D_KIND_PAIR:
        memcpy(integers, place, sizeof integers);
        return cJSON_CreateIntArray(integers, 2);
    case SSM2D_KIND_LIST:
        memcpy(&list, place, sizeof list);
        return cJSON_CreateIntArray(list.at, list.count);
    }
    return NULL;
}

int field_add_to_json(cJSON *object, const ssm2d_field *f, const void *config)
{
    return json_add(object, f->name, to_json(f, config));
}

ssm2d_status field_refuse_key(field_source from, const char *key, const char *const *names,
                              ssm2d_error *error)
{
    char shown[SHOWN];
    const char *near = closest_name(key, names), *prefix = from.prefix ? from.prefix : "";
    text_show(key, strlen(key), shown, sizeof shown);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"%s%s\" is not a known key: did you mean \"%s%s\"?",
                    text_path(from.where), prefix, shown, prefix, near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s%s\" is not a known key",
                text_path(from.where), prefix, shown);
}
