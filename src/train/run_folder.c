#include "train/run_folder.h"

#include "core/hash.h"
#include "core/status.h"
#include "inference/model_file.h"
#include "io/file.h"
#include "io/file_open.h"
#include "io/json.h"
#include "io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 15 };

static const char no_data[] = "none"; /* the data of a run that does not name them */

ssm2d_status run_names_data(const char *folder, const char *data, ssm2d_error *error)
{
    if (strcmp(data, no_data)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: does not name its data: name them (eval --data)",
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

/* On a file system without locks this always succeeds: the lock guards against user errors, and
 * correctness does not depend on it. */
ssm2d_status run_lock(const char *folder, int *lock, ssm2d_error *error)
{
    *lock = folder_fd(AT_FDCWD, folder, 1);
    if (*lock < 0)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be opened: %s", text_path(folder),
                    strerror(errno));
    /* programs that read a run, such as ssm2d report, hold the lock briefly */
    int taken = 1;
    for (int tries = 0; taken && tries < LOCK_TRIES; tries++) {
        if (tries) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        taken = flock(*lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    }
    if (!taken) {
        ssm2d_status status = run_still_there(folder, *lock, error);
        if (!status) return SSM2D_OK;
        run_unlock(*lock);
        *lock = -1;
        return status;
    }
    run_unlock(*lock);
    *lock = -1;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: another process is training in this folder: wait for it, or stop it",
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
                "%s: is no longer the folder of this run, which was moved or removed",
                text_path(folder));
}

/* Whether there is a file with this name of a run's file; a dangling link counts. */
static int has_file(const char *folder, run_file which, struct stat *info)
{
    char path[RUN_PATH];
    return snprintf(path, sizeof path, "%s/%s", folder, run_file_names[which]) < RUN_PATH
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
                        "%s: has a file %s but no train.json, so it is not the folder of a run: "
                        "give another folder",
                        text_path(folder), run_file_names[i]);
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

/* Other programs may write a train.json too. That of a run has only known settings; if it was
 * damaged, the checkpoint still identifies the run. */
static int is_run(const ssm2d_context *context, const char *folder)
{
    char path[RUN_PATH];
    train_settings settings;
    train_identity identity;
    checkpoint *c = NULL;
    cJSON *root = NULL;
    int good = !run_path(folder, RUN_TRAIN, path, NULL)
               && !json_read_regular(context, path, &root, NULL)
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
                    "%s: its train.json is not that of a run: give another folder",
                    text_path(folder));
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
    static const run_file first[] = {RUN_MACHINES, RUN_METRICS, RUN_DATA, RUN_CONFIG, RUN_TRAIN};
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

const char *run_title(const train_settings *s, char title[RUN_TITLE])
{
    char data[128];
    dataset_title(s->options.data, data, sizeof data);
    snprintf(title, RUN_TITLE, "%s with mixer %s on %s", s->model.model->name,
             s->model.mixer.kind->name, data);
    return title;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

char *run_settings_text(const train_settings *s)
{
    cJSON *root = train_settings_to_json(s);
    char *text = root ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    return text;
}

/* Whether a name is "0", "1" .., the names of outputs without names. */
static int is_digits(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

ssm2d_status run_data_matches(const run_data *data, const dataset_info *other, ssm2d_error *error)
{
    const task *t = data->task;
    char one[48], two[48];
    if (!t->accepts(other))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the data have %s, but the model was trained on %s: give data of that kind",
                    task_chosen(0, other)->labels, t->labels);
    const task_outputs o = t->outputs(other);
    if (data->outputs != o.count)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the data have %d %s, but the model has %d: give data with the same %s",
                    o.count, t->many, data->outputs, t->many);
    for (int i = 0; o.names && data->names && i < o.count; i++) {
        const char *a = data->names[i], *b = o.names[i];
        /* runs of earlier versions and image folders have identifiers instead of names */
        const char *a_id = data->ids ? data->ids[i] : a;
        const char *b_id = o.ids ? o.ids[i] : b;
        if (strcmp(a, b) && strcmp(a_id, b_id) && !is_digits(a) && !is_digits(b))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s %d of the data is %s, but of the model %s: give data with the same %s",
                        t->one, i, text_show(b, strlen(b), one, sizeof one),
                        text_show(a, strlen(a), two, sizeof two), t->many);
    }
    return SSM2D_OK;
}

/* ---- a trained model ------------------------------------------------------------------------- */

/* Refuses a train.json whose model differs from config.json. */
static ssm2d_status check_same_model(const char *folder, const run_model *m, ssm2d_error *error)
{
    cJSON *one = model_config_to_json(&m->settings.model);
    cJSON *two = model_config_to_json(&m->model->config);
    ssm2d_status status = SSM2D_OK;
    char what[200];
    if (!one || !two)
        status = fail_memory(error, "%s: comparing its models", text_path(folder));
    else if (json_difference(one, two, "train.json", "config.json", what, sizeof what))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: train.json and config.json describe different models: %s",
                      text_path(folder), what);
    cJSON_Delete(one);
    cJSON_Delete(two);
    return status;
}

/* A model file has no settings of training: those of evaluation are the model's, and the data have
 * to be named. */
static void take_settings(run_model *m)
{
    m->settings.model = m->model->config;
    m->settings.augment = m->model->augment;
    m->settings.options.loss = (int)m->model->loss;
    snprintf(m->settings.options.data, sizeof m->settings.options.data, "%s", no_data);
}

ssm2d_status run_model_open(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], run_model *m, ssm2d_error *error)
{
    char path[RUN_PATH];
    *m = (run_model){0};
    ssm2d_status status = train_settings_default(&m->settings, error);
    if (!status) status = model_open_run(context, folder, which, image, &m->model, error);
    if (status) return status;
    m->data = m->model->data;
    m->weights = m->model->weights;
    m->params = m->model->params;
    m->resized = m->model->resized;
    if (model_file_is(folder)) {
        take_settings(m);
        return SSM2D_OK;
    }
    status = run_path(folder, RUN_TRAIN, path, error);
    if (!status) status = train_settings_read(context, path, &m->settings, error);
    m->settings.model.head = m->model->config.head;
    if (!status) status = model_config_finish(&m->settings.model, error);
    if (!status && image && image[0])
        status = model_config_resize(&m->settings.model, image, error);
    if (!status) status = check_same_model(folder, m, error);
    if (status) run_model_close(m);
    return status;
}

void run_model_close(run_model *m)
{
    ssm2d_model_close(m->model);
    *m = (run_model){0};
}

ssm2d_status run_model_session(ssm2d_context *context, const run_model *m, size_t batch,
                               ssm2d_session **out, ssm2d_error *error)
{
    ssm2d_session_options with = ssm2d_session_options_default();
    with.batch = batch;
    return session_create(context, m->model, &with, out, error);
}
