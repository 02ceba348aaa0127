#include "inference/run_data.h"

#include "core/context.h"
#include "core/status.h"
#include "inference/run_files.h"
#include "io/json.h"
#include "io/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_OUTPUTS = 1 << 20 };

static const char names_key[] = OUTPUTS_KEY, ids_key[] = "class_ids", count_key[] = "outputs";

/* JSON text must be UTF-8. */
static int all_utf8(const char *const *texts, int count)
{
    for (int i = 0; i < count; i++)
        for (const char *at = texts[i]; *at; at += text_utf8(at))
            if (!text_utf8(at)) return 0;
    return 1;
}

static int add_names(cJSON *root, const char *key, const char *const *names, int count)
{
    cJSON *list = cJSON_AddArrayToObject(root, key);
    int good = list != NULL;
    for (int i = 0; good && i < count; i++)
        good = json_add(list, NULL, cJSON_CreateString(names[i]));
    return good;
}

/* names: hash of the names of the images; 0: unknown. */
static char *text_of(const task *t, const task_outputs *o, int channels, size_t images,
                     uint64_t names, const normalisation *norm)
{
    cJSON *root = cJSON_CreateObject();
    char hash[24];
    int good = root
               && (o->names ? add_names(root, names_key, o->names, o->count)
                            : cJSON_AddNumberToObject(root, count_key, o->count) != NULL);
    if (o->ids && all_utf8(o->ids, o->count))
        good = good && add_names(root, ids_key, o->ids, o->count);
    good = good && cJSON_AddStringToObject(root, "task", t->name)
           && (!t->file_labels || cJSON_AddStringToObject(root, "labels", t->file_labels))
           && cJSON_AddNumberToObject(root, "channels", channels)
           && (!images || cJSON_AddNumberToObject(root, "images", (double)images));
    /* as text: a JSON number cannot hold 64 bits */
    snprintf(hash, sizeof hash, "%016" PRIx64, names);
    good = good && (!names || cJSON_AddStringToObject(root, "names", hash));
    for (int k = 0; good && k < 2; k++) {
        double values[3]; /* cJSON prints 15 digits or more, so that floats stay exact */
        for (int i = 0; i < 3; i++) values[i] = (double)(k ? norm->std[i] : norm->mean[i]);
        good = json_add(root, k ? "std" : "mean", cJSON_CreateDoubleArray(values, 3));
    }
    char *text = good ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    return text;
}

char *run_data_text(const task *t, const dataset_info *train, const normalisation *norm)
{
    const task_outputs o = t->outputs(train);
    return text_of(t, &o, train->channels, train->count, train->names, norm);
}

char *run_data_print(const run_data *data)
{
    const task_outputs o = run_data_outputs(data);
    return text_of(data->task, &o, data->channels, (size_t)data->images, 0, &data->norm);
}

/* Files without the key "task" are of one of the first two tasks; "labels" tells which. */
static ssm2d_status read_task(const char *path, const cJSON *root, const task **out,
                              ssm2d_error *error)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(root, "task");
    const cJSON *labels = cJSON_GetObjectItemCaseSensitive(root, "labels");
    char shown[48];
    *out = cJSON_IsString(name) ? task_find(name->valuestring) : NULL;
    if (name && !*out)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"task\" is %s, which this version does not have", text_path(path),
                    cJSON_IsString(name) ? text_show(name->valuestring, strlen(name->valuestring),
                                                     shown, sizeof shown)
                                         : "no text");
    const task *const old = labels ? &task_attributes : &task_classification;
    if (!*out) *out = old;
    const char *found = cJSON_IsString(labels) ? labels->valuestring : "";
    if (!labels || ((*out)->file_labels && !strcmp(found, (*out)->file_labels))) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: \"labels\" is not \"%s\": leave it out if each image has one class",
                text_path(path), task_attributes.file_labels);
}

static ssm2d_status read_three(const char *path, const cJSON *root, const char *key, float low,
                               float *out, ssm2d_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key), *item;
    int n = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (n == 3 || !cJSON_IsNumber(item) || !isfinite((float)item->valuedouble)) break;
        if (item->valuedouble < (double)low)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" has %g: use numbers from %g",
                        text_path(path), key, item->valuedouble, (double)low);
        out[n++] = (float)item->valuedouble;
    }
    if (n == 3 && !item && cJSON_IsArray(list)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is not a list of three numbers",
                text_path(path), key);
}

/* Reads a list of names into one block of memory. */
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
    if (!cJSON_IsArray(list) || item || !count || count > MAX_OUTPUTS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is not a list of names",
                    text_path(path), key);
    *names = mem_alloc(context, count * sizeof **names + bytes);
    if (!*names) return fail_memory(error, "%s: names of outputs", text_path(path));
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

/* Reads the outputs: their names and, for some data, identifiers; or only their count. */
static ssm2d_status read_outputs(const ssm2d_context *context, const char *path, const cJSON *root,
                                 run_data *data, ssm2d_error *error)
{
    int count = 0;
    if (cJSON_HasObjectItem(root, count_key))
        return json_get_int(path, root, count_key, JSON_REQUIRED, 1, MAX_OUTPUTS, &data->outputs,
                            error);
    ssm2d_status status =
        read_names(context, path, root, names_key, &data->names, &data->outputs, error);
    if (status || !cJSON_HasObjectItem(root, ids_key)) return status;
    status = read_names(context, path, root, ids_key, &data->ids, &count, error);
    if (status || count == data->outputs) return status;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" has %d names, but \"%s\" has %d",
                text_path(path), ids_key, count, names_key, data->outputs);
}

ssm2d_status run_data_from_json(const ssm2d_context *context, const char *path, const cJSON *root,
                                run_data *data, ssm2d_error *error)
{
    int images = 0;
    *data = (run_data){0};
    ssm2d_status status = read_outputs(context, path, root, data, error);
    if (!status) status = read_task(path, root, &data->task, error);
    if (!status)
        status = json_get_int(path, root, "channels", JSON_REQUIRED, 1, 3, &data->channels, error);
    if (!status)
        status = json_get_int(path, root, "images", JSON_OPTIONAL, 1, INT32_MAX, &images, error);
    if (!status) status = read_three(path, root, "mean", -FLT_MAX, data->norm.mean, error);
    /* smaller floats are flushed to 0 in computations */
    if (!status) status = read_three(path, root, "std", FLT_MIN, data->norm.std, error);
    if (!status && data->channels == 2)
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"channels\" is 2: use 1 or 3", text_path(path));
    data->images = images;
    if (status) run_data_free(context, data);
    return status;
}

ssm2d_status run_data_read(const ssm2d_context *context, const char *folder, run_data *data,
                           ssm2d_error *error)
{
    char path[RUN_PATH];
    cJSON *root = NULL;
    *data = (run_data){0};
    ssm2d_status status = run_path(folder, RUN_DATA, path, error);
    if (!status) status = json_read_regular(context, path, &root, error);
    if (!status) status = run_data_from_json(context, path, root, data, error);
    cJSON_Delete(root);
    return status;
}

task_outputs run_data_outputs(const run_data *data)
{
    return (task_outputs){data->outputs, (const char *const *)data->names,
                          (const char *const *)data->ids};
}

void run_data_free(const ssm2d_context *context, run_data *data)
{
    mem_free(context, data->names);
    mem_free(context, data->ids);
    *data = (run_data){0};
}
