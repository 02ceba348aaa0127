#include "report/report_run.h"

#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/file_open.h"
#include "io/json.h"
#include "io/text.h"
#include "models/weights.h"
#include "train/machines.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_MESSAGE = 4096 };

static const char failed_ending[] = ".failed";

const char *report_state_name(report_state state)
{
    static const char *const names[] = {"finished",  "training now", "interrupted",
                                        "not begun", "failed",       "damaged"};
    return names[state];
}

int report_is_failure(const char *path, char folder[RUN_PATH])
{
    struct stat about;
    const size_t length = strlen(path), ending = sizeof failed_ending - 1;
    if (length <= ending || length >= RUN_PATH || strcmp(path + length - ending, failed_ending)
        || stat(path, &about) || !S_ISREG(about.st_mode))
        return 0;
    memcpy(folder, path, length - ending);
    folder[length - ending] = 0;
    return 1;
}

/* ---- state ----------------------------------------------------------------------------------- */

/* Reads the first line of RUN.failed; *found is 0 when there is none. */
static ssm2d_status read_failure(const ssm2d_context *context, report_run *run, int *found,
                                 ssm2d_error *error)
{
    char path[RUN_PATH + sizeof failed_ending], *text = NULL;
    size_t size;
    *found = 0;
    snprintf(path, sizeof path, "%s%s", run->folder, failed_ending);
    if (access(path, F_OK)) return SSM2D_OK;
    const ssm2d_status status =
        file_read_regular(context, path, MAX_MESSAGE, &text, &size, &run->why);
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", run->why.line);
    *found = 1;
    if (status) return SSM2D_OK;
    text_show(text, strcspn(text, "\n"), run->why.line, sizeof run->why.line);
    mem_free(context, text);
    return SSM2D_OK;
}

/* Whether a process trains in the folder: it holds an exclusive lock. */
static int is_training(const char *folder)
{
    const int fd = folder_fd(AT_FDCWD, folder, 1);
    if (fd < 0) return 0;
    const int taken = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return taken;
}

static report_state state_of(const report_run *run)
{
    if (run->done >= run->epochs) return REPORT_FINISHED;
    if (is_training(run->folder)) return REPORT_TRAINING;
    return run_not_begun(run->folder) ? REPORT_NOT_BEGUN : REPORT_STOPPED;
}

/* ---- settings -------------------------------------------------------------------------------- */

static int add_value(cJSON *values, const char *key, const cJSON *value)
{
    char *text = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
    const char *shown = cJSON_IsString(value) ? value->valuestring : text;
    const int good = shown && cJSON_AddStringToObject(values, key, shown);
    cJSON_free(text);
    return good;
}

/* The settings as texts; keys of nested objects are joined by a dot. NULL if out of memory. */
static cJSON *flat_settings(const train_settings *s)
{
    cJSON *root = train_settings_to_json(s), *values = cJSON_CreateObject();
    const cJSON *one, *two;
    char key[128];
    int good = root && values;
    cJSON_ArrayForEach(one, root)
    {
        if (good && cJSON_IsNull(one)) { /* "mixer": null */
            snprintf(key, sizeof key, "%s.kind", one->string);
            good = cJSON_AddStringToObject(values, key, "none") != NULL;
        } else if (good && !cJSON_IsObject(one)) {
            good = add_value(values, one->string, one);
        }
        if (!good || !cJSON_IsObject(one)) continue;
        cJSON_ArrayForEach(two, one)
        {
            snprintf(key, sizeof key, "%s.%s", one->string, two->string);
            good = good && add_value(values, key, two);
        }
    }
    cJSON_Delete(root);
    if (good) return values;
    cJSON_Delete(values);
    return NULL;
}

const char *report_run_value(const report_run *run, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(run->values, key);
    return value ? value->valuestring : NULL;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static ssm2d_status read_metrics(const ssm2d_context *context, report_run *run, ssm2d_error *error)
{
    char path[RUN_PATH];
    ssm2d_error why;
    const metric *line;
    size_t lines = 0;
    ssm2d_status status = run_path(run->folder, RUN_METRICS, path, &why);
    if (!status && access(path, F_OK)) return SSM2D_OK;
    if (!status) status = metrics_read(context, path, run->task, &run->metrics, &why);
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", why.line);
    if (status) {
        run->why = why;
        return SSM2D_OK;
    }
    for (; (line = metrics_line(run->metrics, lines)); lines++) {
        if (!line->is_epoch || !(line->epoch >= 1 && line->epoch <= 1e9)) continue;
        run->done = (long)line->epoch;
        run->last = line;
        if (!run->best || task_is_better(run->task, line->test_score, run->best->test_score))
            run->best = line;
    }
    double speed;
    status = metrics_speed(run->metrics, &speed, error);
    if (!status && speed > 0) run->images_per_s = speed;
    return status;
}

/* ---- machines -------------------------------------------------------------------------------- */

/* A file that cannot be read is ignored. */
static ssm2d_status read_machines(const ssm2d_context *context, report_run *run, ssm2d_error *error)
{
    char path[RUN_PATH];
    ssm2d_error why;
    ssm2d_status status = run_path(run->folder, RUN_MACHINES, path, &why);
    if (!status) status = machines_read(context, path, &run->machines, &why);
    return status == SSM2D_ERROR_MEMORY ? fail(error, status, "%s", why.line) : SSM2D_OK;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Counts the model's parameters. */
static ssm2d_status read_model(ssm2d_context *context, report_run *run, ssm2d_error *error)
{
    weights *w = NULL;
    ssm2d_status status = model_config_finish(&run->settings.model, error);
    if (!status) status = weights_create(context, &run->settings.model, &w, error);
    if (!status) run->parameters = w->learned;
    weights_destroy(w);
    return status;
}

static ssm2d_status read_all(ssm2d_context *context, report_run *run, ssm2d_error *error)
{
    char path[RUN_PATH];
    ssm2d_error ignored;
    ssm2d_status status = run_path(run->folder, RUN_TRAIN, path, error);
    if (!status) status = train_settings_default(&run->settings, error);
    if (!status) status = train_settings_read(context, path, &run->settings, error);
    if (status) return status;
    status = run_data_read(context, run->folder, &run->data, &ignored);
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", ignored.line);
    const int chosen = run->settings.options.task;
    run->task = run->data.task ? run->data.task : task_at(chosen ? chosen - 1 : 0);
    run->settings.model.head = run->task->head;
    if ((status = read_model(context, run, error))) return status;
    run->values = flat_settings(&run->settings);
    if (!run->values) return fail_memory(error, "%s: settings", text_path(run->folder));
    run->known = 1;
    run->epochs = train_epochs(&run->settings.options);
    status = read_machines(context, run, error);
    return status ? status : read_metrics(context, run, error);
}

ssm2d_status report_run_read(ssm2d_context *context, const char *folder, report_run *run,
                             ssm2d_error *error)
{
    size_t length = strlen(folder);
    int failed = 0;
    *run = (report_run){0};
    while (length > 1 && folder[length - 1] == '/') length--;
    char *copy = mem_alloc(context, length + 1);
    if (!copy) return fail_memory(error, "run");
    memcpy(copy, folder, length);
    run->folder = run->name = copy;
    ssm2d_status status = read_failure(context, run, &failed, error);
    if (status) return status;
    if (!run_exists(run->folder)) {
        run->state = REPORT_FAILED;
        if (failed) return SSM2D_OK; /* before it began */
        return run_refuse(run->folder, error);
    }
    ssm2d_error why;
    status = read_all(context, run, &why);
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", why.line);
    if (status) run->why = why;
    run->state = status ? REPORT_DAMAGED : failed ? REPORT_FAILED : state_of(run);
    return SSM2D_OK;
}

void report_run_destroy(const ssm2d_context *context, report_run *run)
{
    report_evaluation *e = &run->evaluation;
    for (int i = 0; i < e->wrong_count; i++) {
        mem_free(context, e->wrong[i].pixels);
        mem_free(context, e->wrong[i].file);
    }
    evaluation_detail_free(context, &e->detail);
    mem_free(context, e->confusion);
    metrics_close(run->metrics);
    run_data_free(context, &run->data);
    cJSON_Delete(run->values);
    cJSON_Delete(run->machines);
    mem_free(context, (void *)run->folder);
    *run = (report_run){0};
}
