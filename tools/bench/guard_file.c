#include "guard_file.h"

#include "core/status.h"
#include "io/json.h"
#include "io/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- kind ------------------------------------------------------------------------------------ */

/* Finds a field of the first processor in /proc/cpuinfo, whose lines end with an empty one. Returns
 * the length of its value, 0 if there is none. */
static int cpuinfo_field(const char *cpuinfo, const char *name, const char **value)
{
    const size_t length = strlen(name);
    for (const char *line = cpuinfo; *line && *line != '\n';) {
        const char *end = strchr(line, '\n');
        if (!end) end = line + strlen(line);
        if (!strncmp(line, name, length)) {
            const char *at = line + length;
            while (at < end && (*at == ' ' || *at == '\t')) at++;
            if (at < end && *at == ':') {
                for (at++; at < end && *at == ' ';) at++;
                *value = at;
                return (int)(end - at);
            }
        }
        line = *end ? end + 1 : end;
    }
    return 0;
}

/* Appends a word in lower case; runs of other characters than letters and digits become a dash. */
static void add_word(char kind[GUARD_KIND], const char *word, int length)
{
    size_t used = strlen(kind);
    int dash = used > 0;
    for (int i = 0; i < length && used + 2 < GUARD_KIND; i++) {
        const unsigned char c = (unsigned char)word[i];
        if (!isalnum(c)) {
            dash = used > 0;
            continue;
        }
        if (dash) kind[used++] = '-';
        dash = 0;
        kind[used++] = (char)tolower(c);
    }
    kind[used] = '\0';
}

void guard_kind(const char *cpuinfo, const char *instruction_set, char kind[GUARD_KIND])
{
    static const char *const fields[] = {"vendor_id", "CPU implementer", "cpu family",
                                         "model",     "CPU part",        "model name"};
    kind[0] = '\0';
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *value = "";
        const int length = cpuinfo_field(cpuinfo, fields[i], &value);
        add_word(kind, value, length);
    }
    if (!kind[0]) add_word(kind, "unknown", 7);
    add_word(kind, instruction_set, (int)strlen(instruction_set));
}

/* ---- reading --------------------------------------------------------------------------------- */

static ssm2d_status get_number(const char *path, const cJSON *object, const char *key, double low,
                               double high, double *value, ssm2d_error *error)
{
    char shown[64];
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: a ratio has no \"%s\"", text_path(path), key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= low) || !(item->valuedouble <= high))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s=%s: use a number from %g to %g",
                    text_path(path), key, json_show(item, shown, sizeof shown), low, high);
    *value = item->valuedouble;
    return SSM2D_OK;
}

static ssm2d_status get_text(const char *path, const cJSON *object, const char *key, char *text,
                             size_t size, ssm2d_error *error)
{
    const char *value;
    ssm2d_status status = json_get_string(path, object, key, JSON_REQUIRED, &value, error);
    if (status) return status;
    if (strlen(value) >= size)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is longer than %zu bytes",
                    text_path(path), key, size - 1);
    snprintf(text, size, "%s", value);
    return SSM2D_OK;
}

static ssm2d_status read_ratio(const char *path, const cJSON *item, guard_ratio *r,
                               ssm2d_error *error)
{
    char better[16];
    if (!cJSON_IsObject(item))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"ratios\" must be a list of objects",
                    text_path(path));
    ssm2d_status status = get_text(path, item, "name", r->name, sizeof r->name, error);
    if (!status) status = get_number(path, item, "value", 1e-9, 1e9, &r->value, error);
    if (!status) status = get_number(path, item, "noise", 0, 10, &r->noise, error);
    if (!status) status = get_text(path, item, "better", better, sizeof better, error);
    if (status) return status;
    r->larger_is_better = !strcmp(better, "larger");
    if (!r->larger_is_better && strcmp(better, "smaller") != 0)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: better=\"%s\": use larger or smaller",
                    text_path(path), better);
    return SSM2D_OK;
}

ssm2d_status guard_read(const ssm2d_context *context, const char *path, guard_ratios *r,
                        ssm2d_error *error)
{
    cJSON *root;
    *r = (guard_ratios){.count = 0};
    ssm2d_status status = json_read_regular(context, path, &root, error);
    if (status) return status;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "ratios"), *item;
    if (!cJSON_IsObject(root) || !cJSON_IsArray(list))
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: there is no list \"ratios\"", text_path(path));
    if (!status) status = get_text(path, root, "processor", r->kind, sizeof r->kind, error);
    if (!status)
        status = json_get_int(path, root, "threads", JSON_REQUIRED, 1, 1024, &r->threads, error);
    if (!status && cJSON_GetArraySize(list) > GUARD_RATIOS)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: there are more than %d ratios",
                      text_path(path), GUARD_RATIOS);
    if (!status) cJSON_ArrayForEach(item, list)
        {
            if (!status) status = read_ratio(path, item, &r->ratios[r->count++], error);
        }
    cJSON_Delete(root);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Further digits would be noise. */
static double rounded(double value) { return round(value * 1e4) / 1e4; }

static int add_ratio(cJSON *list, const guard_ratio *r)
{
    cJSON *item = cJSON_CreateObject();
    const int added =
        item && json_add(item, "name", cJSON_CreateString(r->name))
        && json_add(item, "value", cJSON_CreateNumber(rounded(r->value)))
        && json_add(item, "noise", cJSON_CreateNumber(rounded(r->noise)))
        && json_add(item, "better", cJSON_CreateString(r->larger_is_better ? "larger" : "smaller"));
    if (added) return json_add(list, NULL, item);
    cJSON_Delete(item);
    return 0;
}

ssm2d_status guard_write(const ssm2d_context *context, const char *path, const guard_ratios *r,
                         ssm2d_error *error)
{
    cJSON *root = cJSON_CreateObject(), *list = cJSON_CreateArray();
    int complete = root && list && json_add(root, "processor", cJSON_CreateString(r->kind))
                   && json_add(root, "threads", cJSON_CreateNumber(r->threads));
    for (int i = 0; i < r->count && complete; i++) complete = add_ratio(list, &r->ratios[i]);
    if (complete) {
        complete = json_add(root, "ratios", list);
        list = NULL;
    }
    cJSON_Delete(list);
    if (!complete) {
        cJSON_Delete(root);
        root = NULL;
    }
    return json_write(context, path, root, error);
}

/* ---- comparing ------------------------------------------------------------------------------- */

const guard_ratio *guard_find(const guard_ratios *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->ratios[i].name, name)) return &r->ratios[i];
    return NULL;
}

double guard_worse(const guard_ratio *then, double value)
{
    return then->larger_is_better ? then->value / value : value / then->value;
}
