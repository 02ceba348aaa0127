#include "reproduce_result.h"

#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"
#include "reproduce_settings.h"
#include "train/evaluate.h"
#include "train/metrics.h"
#include "train/run_images.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MESSAGE = 4096 };

const char *run_state_name(run_state state)
{
    static const char *const names[] = {"open", "partly", "done", "failed"};
    return names[state];
}

static void result_path(const planned_run *run, char path[RUN_PATH])
{
    snprintf(path, RUN_PATH, "%s/" RESULT_FILE, run->folder);
}

static void failure_path(const planned_run *run, char path[RUN_PATH])
{
    snprintf(path, RUN_PATH, "%s.failed", run->folder);
}

/* ---- result.json ----------------------------------------------------------------------------- */

typedef struct number {
    const char *key;
    size_t offset;
    double low, high;
    int is_share; /* of images, from 0 to 1 here; files may have percents */
    enum { REQUIRED, MAY_BE_NULL, MAY_MISS } presence; /* MAY_MISS: in files of earlier versions */
} number;

#define NUMBER(field, low, high, is_share, presence)                                               \
    {                                                                                              \
#field, offsetof(run_result, field), low, high, is_share, presence                         \
    }
static const number numbers[] = {{"accuracy", offsetof(run_result, score), 0, 1, 1, REQUIRED},
                                 NUMBER(best, 0, 1, 1, REQUIRED),
                                 NUMBER(top5, 0, 1, 1, MAY_BE_NULL),
                                 NUMBER(images_per_s, 0, 1e12, 0, MAY_BE_NULL),
                                 NUMBER(seconds, 0, 1e12, 0, REQUIRED),
                                 NUMBER(parameters, 1, 1e15, 0, REQUIRED),
                                 NUMBER(epochs, 1, 1e9, 0, REQUIRED),
                                 NUMBER(best_epoch, 0, 1e9, 0, REQUIRED),
                                 NUMBER(bytes, 1, 1e15, 0, MAY_MISS)};
#undef NUMBER
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double *place(run_result *r, const number *n) { return (double *)((char *)r + n->offset); }

static double value_of(const run_result *r, const number *n)
{
    return *(const double *)((const char *)r + n->offset);
}

double run_result_at_size(const run_result *r, int size)
{
    for (int i = 0; i < r->size_count; i++)
        if (r->sizes[i] == size) return r->at_size[i];
    return NAN;
}

/* An object with the score by the side of the images: {"24": 0.61}. */
static ssm2d_status sizes_from_json(const char *file, const cJSON *sizes, double whole,
                                    run_result *r, ssm2d_error *error)
{
    const cJSON *value;
    cJSON_ArrayForEach(value, sizes)
    {
        const long size = value->string ? strtol(value->string, NULL, 10) : 0;
        const double x = cJSON_IsNumber(value) ? value->valuedouble / whole : NAN;
        if (r->size_count == PLAN_SIZES || size < 1 || size > INT_MAX || !(x >= 0 && x <= 1))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: \"sizes\" are not accuracies at up to %d sides of images",
                        text_path(file), PLAN_SIZES);
        r->sizes[r->size_count] = (int)size;
        r->at_size[r->size_count++] = x;
    }
    return SSM2D_OK;
}

static int sizes_add_json(cJSON *object, double whole, const run_result *r)
{
    char key[16];
    cJSON *sizes = r->size_count ? cJSON_AddObjectToObject(object, "sizes") : NULL;
    int good = sizes || !r->size_count;
    for (int i = 0; i < r->size_count && good; i++) {
        snprintf(key, sizeof key, "%d", r->sizes[i]);
        good = cJSON_AddNumberToObject(sizes, key, whole * r->at_size[i]) != NULL;
    }
    return good;
}

ssm2d_status run_result_from_json(const char *file, const cJSON *object, double whole,
                                  run_result *r, ssm2d_error *error)
{
    char shown[48];
    *r = (run_result){0};
    for (int i = 0; i < NUMBERS; i++) {
        const number *n = &numbers[i];
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, n->key);
        const int is_null =
            value ? cJSON_IsNull(value) && n->presence != REQUIRED : n->presence == MAY_MISS;
        const double in_file = cJSON_IsNumber(value) ? value->valuedouble : NAN;
        const double x = n->is_share ? in_file / whole : in_file;
        if (!is_null && !(x >= n->low && x <= n->high))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: \"%s\" is %s, which is not a valid result", text_path(file), n->key,
                        value ? json_show(value, shown, sizeof shown) : "missing");
        *place(r, n) = x;
    }
    return sizes_from_json(file, cJSON_GetObjectItemCaseSensitive(object, "sizes"), whole, r,
                           error);
}

int run_result_add_json(cJSON *object, double whole, const run_result *r)
{
    int good = object != NULL;
    for (int i = 0; i < NUMBERS && good; i++) {
        const double x = value_of(r, &numbers[i]) * (numbers[i].is_share ? whole : 1);
        good = isnan(x) ? cJSON_AddNullToObject(object, numbers[i].key) != NULL
                        : cJSON_AddNumberToObject(object, numbers[i].key, x) != NULL;
    }
    return good && sizes_add_json(object, whole, r);
}

static ssm2d_status read_result(const ssm2d_context *context, const char *path, run_result *r,
                                ssm2d_error *error)
{
    cJSON *root = NULL;
    int by = 0;
    ssm2d_status status = json_read_regular(context, path, &root, error);
    if (!status) status = run_result_from_json(path, root, 1, r, error);
    if (!status)
        status =
            json_get_int(path, root, "chosen_by", JSON_REQUIRED, 0, CHOICE_HELD_OUT, &by, error);
    r->choice = (split_choice)by;
    cJSON_Delete(root);
    return status;
}

ssm2d_status reproduce_result_write(const ssm2d_context *context, const planned_run *run,
                                    const char *path, const run_result *r, ssm2d_error *error)
{
    train_settings settings;
    const ssm2d_status status = plan_settings(run, &settings, error);
    if (status) return status;
    cJSON *root = cJSON_CreateObject();
    const int good = root && cJSON_AddStringToObject(root, "data", run->data->spec)
                     && run_result_add_json(root, 1, r)
                     && cJSON_AddNumberToObject(root, "chosen_by", r->choice)
                     && json_add(root, "settings", reproduce_settings_json(&settings))
                     && json_add(root, "images", reproduce_data_json(run->data));
    if (!good) {
        cJSON_Delete(root);
        root = NULL;
    }
    return json_write(context, path, root, error);
}

int run_result_suffices(const run_result *r, const planned_run *run)
{
    int has = !run->top5 || !isnan(r->top5);
    for (int i = 0; i < run->size_count; i++)
        has = has && !isnan(run_result_at_size(r, run->sizes[i]));
    return has;
}

/* ---- state ----------------------------------------------------------------------------------- */

run_state reproduce_state(const ssm2d_context *context, const planned_run *run, run_result *result,
                          ssm2d_error *damaged)
{
    char path[RUN_PATH];
    ssm2d_error error = {""};
    run_result r;
    if (damaged) *damaged = (ssm2d_error){""};
    result_path(run, path);
    const char *found = !access(path, F_OK) ? path : run->taken;
    if (!access(found, F_OK)) {
        const ssm2d_status status = read_result(context, found, &r, &error);
        if (status && damaged) *damaged = error;
        if (!status && run_result_suffices(&r, run)) {
            if (result) *result = r;
            return RUN_DONE;
        }
    }
    failure_path(run, path);
    if (!access(path, F_OK)) return RUN_FAILED;
    return run_exists(run->folder) ? RUN_PARTLY : RUN_OPEN;
}

static ssm2d_status open_metrics(const ssm2d_context *context, const planned_run *run,
                                 metrics **out, ssm2d_error *error)
{
    char path[RUN_PATH];
    const ssm2d_status status = run_path(run->folder, RUN_METRICS, path, error);
    *out = NULL;
    return status ? status : metrics_read(context, path, task_at(0), out, error);
}

long reproduce_epochs_done(const ssm2d_context *context, const planned_run *run)
{
    metrics *m;
    const metric *line;
    double done = 0;
    if (open_metrics(context, run, &m, NULL)) return 0;
    for (size_t i = 0; (line = metrics_line(m, i)); i++)
        if (line->is_epoch && line->epoch > done && line->epoch < 1e9) done = line->epoch;
    metrics_close(m);
    return (long)done;
}

/* ---- the end of a run ------------------------------------------------------------------------ */

/* The epochs of a run, as its metrics have them. */
static ssm2d_status from_metrics(const ssm2d_context *context, const planned_run *run,
                                 run_result *r, ssm2d_error *error)
{
    metrics *m;
    const metric *line;
    r->score = r->best = r->images_per_s = NAN;
    if (open_metrics(context, run, &m, NULL)) return SSM2D_OK; /* it was removed, or is damaged */
    for (size_t i = 0; (line = metrics_line(m, i)); i++) {
        if (!line->is_epoch) continue;
        const int is_test = !line->validation;
        if (is_test && line->epoch == r->epochs) r->score = line->test_score;
        if (is_test && line->epoch == r->best_epoch) r->best = line->test_score;
    }
    const ssm2d_status status = metrics_speed(m, &r->images_per_s, error);
    metrics_close(m);
    return status;
}

/* Evaluates the weights of a run on the test images of its data, at another size unless it is
 * NULL. */
static ssm2d_status evaluate_run(ssm2d_context *context, const planned_run *run, run_file which,
                                 const int size[2], int (*stop)(void *), evaluation *out,
                                 ssm2d_error *error)
{
    run_model m;
    run_images images;
    ssm2d_session *session = NULL;
    ssm2d_status status = run_model_open(context, run->folder, which, size, &m, error);
    if (status) return status;
    status = run_images_open(context, run->folder, &m, run->data->spec, &images, error);
    if (!status && images.split != DATASET_TEST)
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no test images", text_path(run->data->spec));
    if (!status) status = run_model_session(context, &m, images.batch, &session, error);
    if (!status) {
        const evaluation_hooks hooks = {.stop = stop};
        status = evaluate(session->evaluator, images.loader, m.data.task, m.model->loss, &hooks,
                          out, error);
    }
    ssm2d_session_destroy(session);
    run_images_close(&images);
    run_model_close(&m);
    return status;
}

ssm2d_status reproduce_finish(ssm2d_context *context, const planned_run *run,
                              const train_result *trained, size_t parameters, size_t bytes,
                              int (*stop)(void *user), int *stopped, ssm2d_error *error)
{
    evaluation last, best;
    train_settings s;
    *stopped = 0;
    ssm2d_status status = plan_settings(run, &s, error);
    if (status) return status;
    run_result r = {.top5 = NAN,
                    .seconds = trained->seconds,
                    .parameters = (double)parameters,
                    .bytes = (double)bytes,
                    .epochs = (double)train_epochs(&s.options),
                    .best_epoch = (double)trained->best_epoch,
                    .choice = trained->choice};
    if ((status = from_metrics(context, run, &r, error))) return status;
    if (run->top5 || isnan(r.score)) {
        status = evaluate_run(context, run, RUN_MODEL, NULL, stop, &last, error);
        if (status) return status;
        if ((*stopped = last.stopped)) return SSM2D_OK;
        r.score = last.metrics[0];
        r.top5 = last.metrics[1];
    }
    if (isnan(r.best)) {
        status = evaluate_run(context, run, RUN_BEST, NULL, stop, &best, error);
        if (status) return status;
        if ((*stopped = best.stopped)) return SSM2D_OK;
        r.best = best.metrics[0];
    }
    for (int i = 0; i < run->size_count; i++) {
        const int size[2] = {run->sizes[i], run->sizes[i]};
        status = evaluate_run(context, run, RUN_MODEL, size, stop, &last, error);
        if (status) return status;
        if ((*stopped = last.stopped)) return SSM2D_OK;
        r.sizes[r.size_count] = run->sizes[i];
        r.at_size[r.size_count++] = last.metrics[0];
    }
    char path[RUN_PATH];
    result_path(run, path);
    return reproduce_result_write(context, run, path, &r, error);
}

/* ---- failures -------------------------------------------------------------------------------- */

ssm2d_status reproduce_note_failure(const ssm2d_context *context, const planned_run *run,
                                    const char *message, ssm2d_error *error)
{
    char path[RUN_PATH];
    failure_path(run, path);
    if (message) return file_write_text(context, path, message, error);
    if (!unlink(path) || errno == ENOENT) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be removed: %s", text_path(path),
                strerror(errno));
}

int reproduce_failure(const ssm2d_context *context, const planned_run *run, char *message,
                      size_t size)
{
    char path[RUN_PATH], *text = NULL;
    size_t length;
    failure_path(run, path);
    if (file_read_regular(context, path, MAX_MESSAGE, &text, &length, NULL)) return 0;
    text[strcspn(text, "\n")] = 0;
    text_show(text, strlen(text), message, size);
    mem_free(context, text);
    return 1;
}
