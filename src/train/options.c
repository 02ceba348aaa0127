#include "train/options.h"

#include "core/status.h"
#include "io/json.h"
#include "io/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAID = 48 };

const char *const train_schedule_names[] = {"cosine", "constant", NULL};
const char *const train_loss_names[] = {"cross-entropy", "bce", NULL};

const train_field train_fields[] = {
#define OPTION(kind, field, name, standard, low, high, names, help)                                \
    {#field, name, TRAIN_KIND_##kind, offsetof(train_options, field), standard, low, high,         \
     names,  help},
#include "train/options.def"
#undef OPTION
};
const int train_field_count = (int)(sizeof train_fields / sizeof *train_fields);

/* ---- from text ------------------------------------------------------------------------------- */

/* Where a value came from, for messages: a file, or the command line when NULL. */
static ssm2d_status wrong(const char *file, const train_field *f, const char *text, const char *use,
                          ssm2d_error *error)
{
    char said[SAID];
    text_show(text, strlen(text), said, sizeof said);
    if (file)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use %s", text_path(file),
                    f->field, said, use);
    return fail(error, SSM2D_ERROR_ARGUMENT, "--%s=%s: use %s", f->name, said, use);
}

static ssm2d_status set_number(const char *file, const train_field *f, const char *text,
                               void *place, ssm2d_error *error)
{
    char use[96], *end;
    int whole = f->kind == TRAIN_KIND_INT;
    errno = 0;
    double number = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
    if (end == text || *end || (errno == ERANGE && whole) || !isfinite(number) || number < f->low
        || number > f->high) {
        snprintf(use, sizeof use, "a %s from %.15g to %.15g", whole ? "whole number" : "number",
                 f->low, f->high);
        return wrong(file, f, text, use, error);
    }
    if (whole)
        *(long *)place = (long)number;
    else
        *(double *)place = number;
    return SSM2D_OK;
}

static ssm2d_status set_choice(const char *file, const train_field *f, const char *const *names,
                               const char *text, int *place, ssm2d_error *error)
{
    char use[128] = "one of";
    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], text)) {
            *place = i;
            return SSM2D_OK;
        }
        size_t used = strlen(use);
        snprintf(use + used, sizeof use - used, "%s %s", i ? "," : "", names[i]);
    }
    return wrong(file, f, text, use, error);
}

static ssm2d_status set_field(const char *file, const train_field *f, const char *text,
                              train_options *options, ssm2d_error *error)
{
    char *place = (char *)options + f->offset;
    switch (f->kind) {
    case TRAIN_KIND_TEXT:
        if (!*text) return wrong(file, f, "\"\"", "a text that is not empty", error);
        if (strlen(text) >= TRAIN_TEXT)
            return wrong(file, f, text, "a text of less than 1024 bytes", error);
        memset(place, 0, TRAIN_TEXT);
        memcpy(place, text, strlen(text));
        return SSM2D_OK;
    case TRAIN_KIND_INT:
    case TRAIN_KIND_REAL: return set_number(file, f, text, place, error);
    case TRAIN_KIND_CHOICE: return set_choice(file, f, f->names, text, (int *)(void *)place, error);
    }
    return SSM2D_OK;
}

void train_options_default(train_options *options)
{
    memset(options, 0, sizeof *options);
    for (int i = 0; i < train_field_count; i++)
        set_field(NULL, &train_fields[i], train_fields[i].standard, options, NULL);
}

/* Either form of the name. */
static const train_field *find(const char *name)
{
    for (int i = 0; i < train_field_count; i++)
        if (!strcmp(train_fields[i].field, name) || !strcmp(train_fields[i].name, name))
            return &train_fields[i];
    return NULL;
}

ssm2d_status train_options_set(train_options *options, const char *name, const char *text,
                               ssm2d_error *error)
{
    char said[SAID];
    const train_field *f = find(name);
    if (f) return set_field(NULL, f, text, options, error);
    return fail(error, SSM2D_ERROR_ARGUMENT, "there is no setting %s",
                text_show(name, strlen(name), said, sizeof said));
}

/* ---- from and to JSON ------------------------------------------------------------------------ */

ssm2d_status train_options_set_json(train_options *options, const char *file, const train_field *f,
                                    const cJSON *value, ssm2d_error *error)
{
    static const char *const use[] = {[TRAIN_KIND_TEXT] = "a text",
                                      [TRAIN_KIND_INT] = "a whole number",
                                      [TRAIN_KIND_REAL] = "a number",
                                      [TRAIN_KIND_CHOICE] = "a name"};
    char text[SAID];
    if (cJSON_IsString(value) && (f->kind == TRAIN_KIND_TEXT || f->kind == TRAIN_KIND_CHOICE))
        return set_field(file, f, value->valuestring, options, error);
    if (cJSON_IsNumber(value) && (f->kind == TRAIN_KIND_INT || f->kind == TRAIN_KIND_REAL)) {
        snprintf(text, sizeof text, "%.17g", value->valuedouble);
        return set_field(file, f, text, options, error);
    }
    return wrong(file, f, json_show(value, text, sizeof text), use[f->kind], error);
}

static cJSON *to_value(const train_field *f, const train_options *options)
{
    const char *place = (const char *)options + f->offset;
    switch (f->kind) {
    case TRAIN_KIND_TEXT: return cJSON_CreateString(place);
    case TRAIN_KIND_INT: return cJSON_CreateNumber((double)*(const long *)(const void *)place);
    case TRAIN_KIND_REAL: return cJSON_CreateNumber(*(const double *)(const void *)place);
    case TRAIN_KIND_CHOICE: return cJSON_CreateString(f->names[*(const int *)(const void *)place]);
    }
    return NULL;
}

cJSON *train_options_to_json(const train_options *options)
{
    cJSON *root = cJSON_CreateObject();
    for (int i = 0; root && i < train_field_count; i++) {
        cJSON *value = to_value(&train_fields[i], options);
        if (value && cJSON_AddItemToObject(root, train_fields[i].field, value)) continue;
        cJSON_Delete(value);
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

ssm2d_status train_options_check(const train_options *options, ssm2d_error *error)
{
    if (options->lr_start > options->lr && options->warmup > 0)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "lr_start=%g is above lr=%g: the warm-up rises from the one to the other",
                    options->lr_start, options->lr);
    if (options->lr_final > options->lr && options->schedule == 0)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "lr_final=%g is above lr=%g: the cosine falls from lr to lr_final",
                    options->lr_final, options->lr);
    return SSM2D_OK;
}
