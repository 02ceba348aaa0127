#include "inference/run_data.h"

#include "core/context.h"
#include "core/status.h"
#include "inference/run_files.h"
#include "io/json.h"
#include "io/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CLASSES = 1 << 20 };

static const char binary_labels[] = "binary";

/* JSON has nothing else. */
static int all_utf8(const char *const *texts, int count)
{
    for (int i = 0; i < count; i++)
        for (const char *at = texts[i]; *at; at += text_utf8(at))
            if (!text_utf8(at)) return 0;
    return 1;
}

char *run_data_text(const dataset_info *train, const normalisation *norm)
{
    cJSON *root = cJSON_CreateObject(), *list;
    char names[24];
    int good = root && (list = cJSON_AddArrayToObject(root, "classes"));
    for (int i = 0; good && i < train->classes; i++)
        good = json_add(list, NULL, cJSON_CreateString(train->class_names[i]));
    const int has_ids = train->class_ids && all_utf8(train->class_ids, train->classes);
    if (has_ids) good = good && (list = cJSON_AddArrayToObject(root, "class_ids"));
    for (int i = 0; good && has_ids && i < train->classes; i++)
        good = json_add(list, NULL, cJSON_CreateString(train->class_ids[i]));
    if (train->labels == LABEL_BINARY) /* without the key they are classes */
        good = good && cJSON_AddStringToObject(root, "labels", binary_labels);
    good = good && cJSON_AddNumberToObject(root, "channels", train->channels)
           && (!train->count || cJSON_AddNumberToObject(root, "images", (double)train->count));
    /* 64 bits are more than a number in JSON holds */
    snprintf(names, sizeof names, "%016" PRIx64, train->names);
    good = good && (!train->names || cJSON_AddStringToObject(root, "names", names));
    for (int k = 0; good && k < 2; k++) {
        double numbers[3]; /* cJSON prints 15 digits or more, so that floats stay exact */
        for (int i = 0; i < 3; i++) numbers[i] = (double)(k ? norm->std[i] : norm->mean[i]);
        good = json_add(root, k ? "std" : "mean", cJSON_CreateDoubleArray(numbers, 3));
    }
    char *text = good ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    return text;
}

static ssm2d_status read_labels(const char *path, const cJSON *root, label_kind *labels,
                                ssm2d_error *error)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(root, "labels");
    *labels = LABEL_CLASS;
    if (!value) return SSM2D_OK;
    if (!cJSON_IsString(value) || strcmp(value->valuestring, binary_labels))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"labels\" is not \"%s\": leave it out when each image is of one class",
                    text_path(path), binary_labels);
    *labels = LABEL_BINARY;
    return SSM2D_OK;
}

static ssm2d_status read_three(const char *path, const cJSON *root, const char *key, float *out,
                               ssm2d_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key), *item;
    int n = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (n == 3 || !cJSON_IsNumber(item) || !isfinite((float)item->valuedouble)) break;
        out[n++] = (float)item->valuedouble;
    }
    if (n == 3 && !item && cJSON_IsArray(list)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is not a list of three numbers",
                text_path(path), key);
}

/* A list of names, as one block. */
static ssm2d_status read_names(const ssm2d_context *context, const char *path, const cJSON *root,
                               const char *key, const char ***names, int *names_count,
                               ssm2d_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key), *item;
    size_t count = 0, bytes = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item)) break;
        count++;
        bytes += strlen(item->valuestring) + 1;
    }
    if (!cJSON_IsArray(list) || item || !count || count > MAX_CLASSES)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is not a list of names",
                    text_path(path), key);
    *names = mem_alloc(context, count * sizeof **names + bytes);
    if (!*names)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for the names of classes",
                    text_path(path));
    char *text = (char *)(*names + count);
    *names_count = 0;
    cJSON_ArrayForEach(item, list)
    {
        (*names)[(*names_count)++] = text;
        memcpy(text, item->valuestring, strlen(item->valuestring));
        text += strlen(item->valuestring) + 1;
    }
    return SSM2D_OK;
}

/* The identifiers of classes, which most data do not have. */
static ssm2d_status read_ids(const ssm2d_context *context, const char *path, const cJSON *root,
                             run_data *data, ssm2d_error *error)
{
    static const char key[] = "class_ids";
    int count;
    if (!cJSON_HasObjectItem(root, key)) return SSM2D_OK;
    const ssm2d_status status = read_names(context, path, root, key, &data->ids, &count, error);
    if (status || count == data->classes) return status;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" has %d names, and \"classes\" %d",
                text_path(path), key, count, data->classes);
}

ssm2d_status run_data_read(const ssm2d_context *context, const char *folder, run_data *data,
                           ssm2d_error *error)
{
    char path[RUN_PATH];
    cJSON *root = NULL;
    int images = 0;
    *data = (run_data){0};
    ssm2d_status status = run_path(folder, RUN_DATA, path, error);
    if (!status) status = json_read_regular(context, path, &root, error);
    if (!status)
        status = read_names(context, path, root, "classes", &data->names, &data->classes, error);
    if (!status) status = read_ids(context, path, root, data, error);
    if (!status) status = read_labels(path, root, &data->labels, error);
    if (!status)
        status = json_get_int(path, root, "channels", JSON_REQUIRED, 1, 3, &data->channels, error);
    if (!status)
        status = json_get_int(path, root, "images", JSON_OPTIONAL, 1, INT32_MAX, &images, error);
    if (!status) status = read_three(path, root, "mean", data->norm.mean, error);
    if (!status) status = read_three(path, root, "std", data->norm.std, error);
    for (int i = 0; i < 3 && !status; i++)
        if (!(data->norm.std[i] > 0))
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"std\" has %g: use numbers above 0",
                          text_path(path), (double)data->norm.std[i]);
    if (!status && data->channels == 2)
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"channels\" is 2: use 1 or 3", text_path(path));
    data->images = images;
    cJSON_Delete(root);
    if (status) run_data_free(context, data);
    return status;
}

void run_data_free(const ssm2d_context *context, run_data *data)
{
    mem_free(context, data->names);
    mem_free(context, data->ids);
    *data = (run_data){0};
}
