#include "train/run_folder.h"

#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CLASSES = 1 << 20 };

static const char binary_labels[] = "binary";
static const char *const label_words[] = {
    [LABEL_CLASS] = "one class per image", [LABEL_BINARY] = "binary labels"};

static const char *const file_names[RUN_FILES] = {
    [RUN_TRAIN] = "train.json",        [RUN_CONFIG] = "config.json",
    [RUN_DATA] = "data.json",          [RUN_LAST] = "last.safetensors",
    [RUN_MODEL] = "model.safetensors", [RUN_BEST] = "best.safetensors",
    [RUN_METRICS] = "metrics.jsonl",   [RUN_CURVES] = "curves.svg",
};

ssm2d_status run_path(const char *folder, run_file which, char path[RUN_PATH], ssm2d_error *error)
{
    struct stat info;
    int length = snprintf(path, RUN_PATH, "%s/%s", folder, file_names[which]);
    if (length <= 0 || length >= RUN_PATH)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name of the folder is too long",
                    text_path(folder));
    if (!stat(path, &info) && !S_ISREG(info.st_mode)) /* a pipe would be waited for */
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not a regular file", text_path(path));
    return SSM2D_OK;
}

int run_exists(const char *folder)
{
    char path[RUN_PATH];
    return !run_path(folder, RUN_TRAIN, path, NULL) && !access(path, F_OK);
}

ssm2d_status run_names_data(const char *folder, const char *data, ssm2d_error *error)
{
    if (strcmp(data, "none")) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: does not say which data it is for: name them (eval --data)",
                text_path(folder));
}

int run_find_data(const char *folder, const char *data, char out[SSM2D_TEXT])
{
    char beside[RUN_PATH];
    snprintf(out, SSM2D_TEXT, "%s", data);
    if (dataset_present(data)) return 0;
    const int length = snprintf(beside, sizeof beside, "%s/..", folder);
    if (length < 0 || length >= (int)sizeof beside
        || !dataset_rebase(data, beside, out, SSM2D_TEXT))
        return 0;
    if (dataset_present(out)) return 1;
    snprintf(out, SSM2D_TEXT, "%s", data);
    return 0;
}

/* On a file system without locks this succeeds always: the lock guards against a mistake, and
 * nothing depends on it. */
ssm2d_status run_lock(const char *folder, int *lock, ssm2d_error *error)
{
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be opened: %s", text_path(folder),
                    strerror(errno));
    if (!flock(*lock, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) {
        ssm2d_status status = run_still_there(folder, *lock, error);
        if (!status) return SSM2D_OK;
        run_unlock(*lock);
        *lock = -1;
        return status;
    }
    run_unlock(*lock);
    *lock = -1;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: another process is training in this folder: let it end, or stop it",
                text_path(folder));
}

void run_unlock(int lock)
{
    if (lock >= 0) close(lock);
}

ssm2d_status run_still_there(const char *folder, int lock, ssm2d_error *error)
{
    struct stat locked, named;
    if (!fstat(lock, &locked) && !stat(folder, &named) && locked.st_dev == named.st_dev
        && locked.st_ino == named.st_ino)
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_SYSTEM,
                "%s: is not the folder that this run trains in any more: that was moved or removed",
                text_path(folder));
}

/* Whether something is there under the name of a run's file, be it a link that leads nowhere. */
static int has_file(const char *folder, run_file which, struct stat *info)
{
    char path[RUN_PATH];
    return snprintf(path, sizeof path, "%s/%s", folder, file_names[which]) < RUN_PATH
           && !lstat(path, info);
}

ssm2d_status run_check_new(const char *folder, ssm2d_error *error)
{
    struct stat info;
    if (has_file(folder, RUN_TRAIN, &info))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has a run already: resume it, or give another folder", text_path(folder));
    for (int i = 0; i < RUN_FILES; i++)
        if (has_file(folder, (run_file)i, &info))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: has a file %s, but no train.json, so that it is not a run's: give "
                        "another folder",
                        text_path(folder), file_names[i]);
    return SSM2D_OK;
}

int run_not_begun(const char *folder)
{
    struct stat info;
    return run_exists(folder) && !has_file(folder, RUN_LAST, &info)
           && !has_file(folder, RUN_MODEL, &info) && !has_file(folder, RUN_BEST, &info)
           && !has_file(folder, RUN_CURVES, &info)
           && (!has_file(folder, RUN_METRICS, &info) || !info.st_size);
}

/* Other programs have files named train.json, too. A run's has settings of which none is unknown;
 * and where somebody spoiled it, there is still the checkpoint. */
static int is_run(const ssm2d_context *context, const char *folder)
{
    char path[RUN_PATH];
    train_settings settings;
    train_identity identity;
    checkpoint *c = NULL;
    cJSON *root = NULL;
    int good = !run_path(folder, RUN_TRAIN, path, NULL) && !json_read(context, path, &root, NULL)
               && cJSON_GetObjectItemCaseSensitive(root, "model")
               && cJSON_GetObjectItemCaseSensitive(root, "data")
               && !train_settings_default(&settings, NULL)
               && !train_settings_from_json(&settings, path, root, NULL);
    cJSON_Delete(root);
    if (!good)
        good = !run_path(folder, RUN_LAST, path, NULL)
               && !checkpoint_open(context, path, &c, &identity, NULL);
    checkpoint_close(c);
    return good;
}

ssm2d_status run_remove(const ssm2d_context *context, const char *folder, ssm2d_error *error)
{
    char path[RUN_PATH];
    struct stat info;
    ssm2d_status status = SSM2D_OK;
    if (!has_file(folder, RUN_TRAIN, &info)) return run_check_new(folder, error);
    if (!is_run(context, folder))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: its train.json is not a run's: give another folder", text_path(folder));
    for (int i = RUN_FILES - 1; i >= 0 && !status; i--) { /* train.json is the last */
        status = run_path(folder, (run_file)i, path, error);
        if (!status && unlink(path) && errno != ENOENT)
            status = fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be removed: %s", text_path(path),
                          strerror(errno));
    }
    return status;
}

void run_abandon(const char *folder)
{
    static const run_file first[] = {RUN_METRICS, RUN_DATA, RUN_CONFIG, RUN_TRAIN};
    char path[RUN_PATH];
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (!run_path(folder, first[i], path, NULL)) unlink(path);
}

uint64_t run_layout(const weights *w)
{
    uint64_t hash = HASH_START;
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        char text[256];
        int size =
            snprintf(text, sizeof text, "%s %d %d", a->name, a->rank, a->spec.group == PARAM_DECAY);
        hash_add(&hash, text, (size_t)size);
        for (int k = 0; k < a->rank; k++) {
            uint64_t side = a->shape[k];
            hash_add(&hash, &side, sizeof side);
        }
    }
    return hash;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static char *print_and_delete(cJSON *root)
{
    char *text = root ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    return text;
}

char *run_settings_text(const train_settings *s)
{
    return print_and_delete(train_settings_to_json(s));
}

char *run_data_text(const dataset_info *train, const normalisation *norm)
{
    cJSON *root = cJSON_CreateObject(), *list;
    char names[24];
    int good = root && (list = cJSON_AddArrayToObject(root, "classes"));
    for (int i = 0; good && i < train->classes; i++)
        good = json_add(list, NULL, cJSON_CreateString(train->class_names[i]));
    if (train->labels == LABEL_BINARY) /* without the key they are classes */
        good = good && cJSON_AddStringToObject(root, "labels", binary_labels);
    good = good && cJSON_AddNumberToObject(root, "channels", train->channels)
           && cJSON_AddNumberToObject(root, "images", (double)train->count);
    /* 64 bits are more than a number in JSON holds */
    snprintf(names, sizeof names, "%016" PRIx64, train->names);
    good = good && (!train->names || cJSON_AddStringToObject(root, "names", names));
    for (int k = 0; good && k < 2; k++) {
        double numbers[3]; /* cJSON prints 15 digits or more, so that floats stay exact */
        for (int i = 0; i < 3; i++) numbers[i] = (double)(k ? norm->std[i] : norm->mean[i]);
        good = json_add(root, k ? "std" : "mean", cJSON_CreateDoubleArray(numbers, 3));
    }
    if (good) return print_and_delete(root);
    cJSON_Delete(root);
    return NULL;
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

static ssm2d_status read_names(const ssm2d_context *context, const char *path, const cJSON *list,
                               run_data *data, ssm2d_error *error)
{
    const cJSON *item;
    size_t count = 0, bytes = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item)) break;
        count++;
        bytes += strlen(item->valuestring) + 1;
    }
    if (!cJSON_IsArray(list) || item || !count || count > MAX_CLASSES)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"classes\" is not a list of names",
                    text_path(path));
    data->names = mem_alloc(context, count * sizeof *data->names + bytes);
    if (!data->names)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for the names of classes",
                    text_path(path));
    char *text = (char *)(data->names + count);
    cJSON_ArrayForEach(item, list)
    {
        data->names[data->classes++] = text;
        memcpy(text, item->valuestring, strlen(item->valuestring));
        text += strlen(item->valuestring) + 1;
    }
    return SSM2D_OK;
}

ssm2d_status run_data_read(const ssm2d_context *context, const char *folder, run_data *data,
                           ssm2d_error *error)
{
    char path[RUN_PATH];
    cJSON *root = NULL;
    int images = 0;
    *data = (run_data){0};
    ssm2d_status status = run_path(folder, RUN_DATA, path, error);
    if (!status) status = json_read(context, path, &root, error);
    if (!status)
        status = read_names(context, path, cJSON_GetObjectItemCaseSensitive(root, "classes"), data,
                            error);
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

/* Whether a name is "0", "1" .., as classes without names are called. */
static int is_number(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

ssm2d_status run_data_matches(const run_data *data, const dataset_info *other, ssm2d_error *error)
{
    char one[48], two[48];
    if (data->labels != other->labels)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the data have %s and the model was trained on %s: give data of the same kind",
                    label_words[other->labels], label_words[data->labels]);
    if (data->classes != other->classes)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the data have %d classes and the model %d: give data of the same classes",
                    other->classes, data->classes);
    for (int i = 0; i < data->classes; i++) {
        const char *a = data->names[i], *b = other->class_names[i];
        if (strcmp(a, b) && !is_number(a) && !is_number(b))
            return fail(
                error, SSM2D_ERROR_ARGUMENT,
                "class %d of the data is %s, that of the model %s: give data of the same classes",
                i, text_show(b, strlen(b), one, sizeof one),
                text_show(a, strlen(a), two, sizeof two));
    }
    return SSM2D_OK;
}

void run_data_free(const ssm2d_context *context, run_data *data)
{
    mem_free(context, data->names);
    *data = (run_data){0};
}

/* ---- a trained model ------------------------------------------------------------------------- */

/* Reads the weights of the model as it was trained. */
static ssm2d_status load_weights(ssm2d_context *context, const char *path, run_model *m,
                                 ssm2d_error *error)
{
    weights_options options = {0};
    ssm2d_status status = weights_create(context, &m->settings.model, &m->weights, error);
    if (status) return status;
    m->params = mem_alloc(context, m->weights->total * sizeof *m->params);
    if (!m->params)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu parameters", m->weights->total);
    if (access(path, F_OK))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: does not exist yet: it is written at the end of an epoch",
                    text_path(path));
    return weights_load(m->weights, path, &options, m->params, NULL, error);
}

/* Adapts the weights to images of another size. */
static ssm2d_status change_size(ssm2d_context *context, const int image[2], run_model *m,
                                ssm2d_error *error)
{
    weights *w = NULL;
    float *params = NULL;
    ssm2d_status status = model_config_resize(&m->settings.model, image, error);
    if (!status) status = weights_create(context, &m->settings.model, &w, error);
    if (status) return status;
    params = mem_alloc(context, w->total * sizeof *params);
    if (params)
        status = weights_resize(m->weights, m->params, w, params, error);
    else
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu parameters", w->total);
    if (status) {
        mem_free(context, params);
        weights_destroy(w);
        return status;
    }
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i], *old = weights_find(m->weights, a->name);
        if (a->spec.resize == PARAM_KEEP) continue;
        m->resized |= memcmp(&a->spec.grid, &old->spec.grid, sizeof a->spec.grid) != 0;
    }
    mem_free(context, m->params);
    weights_destroy(m->weights);
    m->weights = w;
    m->params = params;
    return SSM2D_OK;
}

ssm2d_status run_model_open(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], run_model *m, ssm2d_error *error)
{
    char path[RUN_PATH];
    *m = (run_model){0};
    ssm2d_status status = train_settings_default(&m->settings, error);
    if (status) return status;
    if (!run_exists(folder))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: is not the folder of a run: it has no train.json", text_path(folder));
    if ((status = run_path(folder, RUN_TRAIN, path, error))) goto done;
    if ((status = train_settings_read(context, path, 0, &m->settings, error))) goto done;
    if ((status = run_data_read(context, folder, &m->data, error))) goto done;
    const model_config *config = &m->settings.model;
    if (config->classes != m->data.classes) {
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"classes\" is %d, but data.json names %d",
                      text_path(path), config->classes, m->data.classes);
        goto done;
    }
    if ((status = model_config_finish(&m->settings.model, error))) goto done;
    if ((status = run_path(folder, which, path, error))) goto done;
    if ((status = load_weights(context, path, m, error))) goto done;
    if (image && image[0] && (image[0] != config->image[0] || image[1] != config->image[1]))
        status = change_size(context, image, m, error);
done:
    if (status) run_model_close(context, m);
    return status;
}

void run_model_close(ssm2d_context *context, run_model *m)
{
    weights_destroy(m->weights);
    mem_free(context, m->params);
    run_data_free(context, &m->data);
    m->weights = NULL;
    m->params = NULL;
}
