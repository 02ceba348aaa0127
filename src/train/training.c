/* Starts, replaces or resumes a run: everything is checked under the folder's lock before the loop
 * writes. */
#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"
#include "train/trainer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With several processes, only the first reads and writes the run's folder, and shares the result
 * with the others. All processes call the public functions. */

static cluster *cluster_of(const run_control *control, cluster *alone)
{
    *alone = cluster_alone();
    return control && control->cluster ? control->cluster : alone;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Makes the path of the data absolute, so that the run can be used from any folder. Leaves it
 * unchanged if it does not exist (it may be a mistyped name), if it becomes too long, or if the
 * current folder has no path. */
static void make_data_absolute(char data[SSM2D_TEXT])
{
    char here[RUN_PATH], absolute[SSM2D_TEXT];
    if (dataset_present(data) && getcwd(here, sizeof here) && *here == '/'
        && dataset_rebase(data, here, absolute, sizeof absolute))
        memcpy(data, absolute, sizeof absolute);
}

/* The same for the file of initial weights. */
static void make_start_absolute(char start[SSM2D_TEXT])
{
    char here[RUN_PATH], absolute[SSM2D_TEXT];
    if (!strcmp(start, "random") || *start == '/' || !getcwd(here, sizeof here) || *here != '/')
        return;
    const int length = snprintf(absolute, sizeof absolute, "%s/%s", here, start);
    if (length > 0 && length < (int)sizeof absolute) memcpy(start, absolute, sizeof absolute);
}

/* Prepares the folder for a new run. A run without a checkpoint has nothing to lose and is
 * replaced even without `replace`. */
static ssm2d_status prepare_folder(ssm2d_context *context, const char *folder, int replace,
                                   int *lock, ssm2d_error *error)
{
    ssm2d_status status = folder_make(folder, error);
    if (!status) status = run_lock(folder, lock, error);
    if (!status) temporaries_remove(*lock);
    if (!status && (replace || run_not_begun(folder))) status = run_remove(context, folder, error);
    /* under the lock: another process may have begun a run since the caller checked */
    if (!status) status = run_check_new(folder, error);
    return status;
}

static ssm2d_status start_run(ssm2d_context *context, cluster *c, const char *folder, int replace,
                              const train_settings *given, const run_control *control,
                              train_result *result, ssm2d_error *error)
{
    train_settings fixed = *given;
    const train_settings *settings = &fixed;
    make_data_absolute(fixed.options.data);
    make_start_absolute(fixed.options.start);
    trainer t = {0};
    weights_report read;
    start_info how = {.is_new = 1};
    file_check checked = {0};
    int lock = -1;
    const int first = c->rank == 0;
    *result = (train_result){0};
    ssm2d_status status = trainer_create(context, c, settings, control, &t, error);
    if (!status) status = check_images(&t, &checked, error);
    if (!status && checked.stopped) {
        result->stopped = 1;
        trainer_destroy(&t);
        return SSM2D_OK;
    }
    how.checked = &checked;
    if (!status) {
        if (first) status = trainer_start(&t, &read, error);
        if (first && !status) status = prepare_folder(context, folder, replace, &lock, error);
        status = cluster_agree(c, status, error);
    }
    if (!status) status = trainer_share_state(&t, error);
    if (strcmp(settings->options.start, "random")) how.read = &read;
    if (!status) {
        status = train_loop(&t, folder, lock, &how, result, error);
        if (status && first && run_not_begun(folder) && !run_still_there(folder, lock, NULL))
            run_abandon(folder);
    }
    run_unlock(lock);
    trainer_destroy(&t);
    return status;
}

ssm2d_status train_begin(ssm2d_context *context, const char *folder, const train_settings *settings,
                         const run_control *control, train_result *result, ssm2d_error *error)
{
    cluster alone, *c = cluster_of(control, &alone);
    ssm2d_status status = SSM2D_OK;
    if (c->rank == 0 && run_exists(folder) && !run_not_begun(folder))
        status =
            fail(error, SSM2D_ERROR_ARGUMENT,
                 "%s: has a run already: resume it, or give another folder", text_path(folder));
    status = cluster_agree(c, status, error);
    return status ? status : start_run(context, c, folder, 0, settings, control, result, error);
}

ssm2d_status train_replace(ssm2d_context *context, const char *folder,
                           const train_settings *settings, const run_control *control,
                           train_result *result, ssm2d_error *error)
{
    cluster alone, *c = cluster_of(control, &alone);
    return start_run(context, c, folder, 1, settings, control, result, error);
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Reads the settings of a checkpoint. */
static ssm2d_status read_settings(const char *path, const train_identity *identity,
                                  train_settings *settings, ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = train_settings_default(settings, error);
    if (!status)
        status = json_parse(path, identity->options, strlen(identity->options), &root, error);
    if (!status) status = train_settings_from_json(settings, path, root, error);
    if (!status) train_options_complete(&settings->options);
    cJSON_Delete(root);
    return status;
}

/* Refuses a checkpoint of another model. Models are compared by value, not as text, so that
 * checkpoints of versions with fewer settings are accepted. */
static ssm2d_status check_model(const char *path, const trainer *t, const train_identity *identity,
                                ssm2d_error *error)
{
    model_config m = {0};
    cJSON *root = NULL;
    ssm2d_status status = json_parse(path, identity->model, strlen(identity->model), &root, error);
    if (!status) status = model_config_from_json(path, root, NULL, &m, error);
    if (!status) status = model_config_finish(&m, error);
    cJSON_Delete(root);
    if (status) return status;
    if (t->identity.layout == identity->layout && model_config_same(&m, &t->settings.model))
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: was written for another model, or by another version", text_path(path));
}

/* Refuses data that differ from their description in the checkpoint, which may have fewer keys than
 * this version writes. */
static ssm2d_status check_data(const char *path, const trainer *t, const train_identity *identity,
                               ssm2d_error *error)
{
    cJSON *old = NULL, *new = NULL;
    ssm2d_status status = json_parse(path, identity->data, strlen(identity->data), &old, error);
    if (!status) status = json_parse(path, t->identity.data, strlen(t->identity.data), &new, error);
    /* "labels" is present only if they are binary */
    int same = !status && cJSON_IsObject(old)
               && !cJSON_HasObjectItem(old, "labels") == !cJSON_HasObjectItem(new, "labels");
    for (const cJSON *item = same ? old->child : NULL; item && same; item = item->next)
        same = cJSON_Compare(item, cJSON_GetObjectItemCaseSensitive(new, item->string), 1);
    cJSON_Delete(old);
    cJSON_Delete(new);
    if (status || same) return status;
    return fail(
        error, SSM2D_ERROR_ARGUMENT,
        "%s: the data in %s are not those the run began with: give their path with --data; if "
        "images were added or removed, start a new run",
        text_path(path), text_path(t->settings.options.data));
}

/* Refuses counters that contradict each other, or more epochs than the run has. */
static ssm2d_status check_state(const char *path, const trainer *t, ssm2d_error *error)
{
    const train_state *s = &t->state;
    if (s->epochs > train_epochs(&t->settings.options))
        return fail(error, SSM2D_ERROR_ARGUMENT, "epochs=%d: the run has done %ld already",
                    t->settings.options.epochs, s->epochs);
    const long first = s->epochs * t->epoch_steps;
    if (s->step >= first && s->step <= first + t->epoch_steps
        && s->images == (s->step - first) * t->settings.options.batch)
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: step %ld and epoch %ld contradict each other: the file was changed",
                text_path(path), s->step, s->epochs);
}

static ssm2d_status set_changes(const train_changes *c, train_options *o, ssm2d_error *error)
{
    const char *const given[][2] = {{"data", c->data},
                                    {"epochs", c->epochs},
                                    {"workers", c->workers},
                                    {"memory", c->memory},
                                    {"bad_images", c->bad_images}};
    ssm2d_status status = SSM2D_OK;
    for (size_t i = 0; i < sizeof given / sizeof *given && !status; i++)
        if (given[i][1]) status = train_options_set(o, given[i][0], given[i][1], error);
    return status;
}

ssm2d_status train_changes_check(const train_changes *changes, ssm2d_error *error)
{
    train_options o;
    train_options_default(&o);
    return set_changes(changes, &o, error);
}

static ssm2d_status apply_changes(const char *folder, const train_changes *c, train_options *o,
                                  start_info *how, ssm2d_error *error)
{
    const train_options before = *o;
    const ssm2d_status status = set_changes(c, o, error);
    if (c->data || run_find_data(folder, before.data, o->data)) make_data_absolute(o->data);
    if (o->epochs != before.epochs) how->old_epochs = before.epochs;
    how->changed = strcmp(o->data, before.data) || o->epochs != before.epochs
                   || o->workers != before.workers || o->memory != before.memory
                   || o->bad_images != before.bad_images;
    return status;
}

static ssm2d_status read_settings_file(const ssm2d_context *context, const char *folder,
                                       train_settings *settings, ssm2d_error *error)
{
    char path[RUN_PATH];
    ssm2d_status status = run_path(folder, RUN_TRAIN, path, error);
    if (!status) status = train_settings_default(settings, error);
    if (!status) status = train_settings_read(context, path, settings, error);
    if (!status) train_options_complete(&settings->options);
    return status;
}

/* Whether train.json differs from the settings of the checkpoint, or cannot be read: a user who
 * edited it must be told that the changes are ignored. Fails only when out of memory. */
static ssm2d_status settings_file_differs(const ssm2d_context *context, const char *folder,
                                          const train_settings *settings, int *differs,
                                          ssm2d_error *error)
{
    train_settings found;
    int same = 0;
    ssm2d_status status = read_settings_file(context, folder, &found, error);
    if (!status) status = train_settings_same(&found, settings, &same, error);
    *differs = !same;
    return status == SSM2D_ERROR_MEMORY ? status : SSM2D_OK;
}

/* A run that is being resumed; filled in by the first process. */
typedef struct resumed {
    ssm2d_context *context;
    const char *folder;
    const train_changes *changes;
    int lock;
    char path[RUN_PATH]; /* of the checkpoint */
    checkpoint *checkpoint;
    train_identity identity;
    train_settings settings;
    start_info how;
} resumed;

/* Reads the settings of a run from its checkpoint; if it ended before the first one, from
 * train.json, and it starts again. */
static ssm2d_status open_run(resumed *r, ssm2d_error *error)
{
    const char *folder = r->folder;
    ssm2d_status status;
    if (!run_exists(folder)) return run_refuse(folder, error);
    if ((status = run_path(folder, RUN_LAST, r->path, error))) return status;
    if ((status = run_lock(folder, &r->lock, error))) return status;
    temporaries_remove(r->lock);
    r->how.is_new = run_not_begun(folder);
    if (!r->how.is_new && access(r->path, F_OK))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: does not exist, so there is no checkpoint to resume: --start begins a "
                    "run with the weights in model.safetensors",
                    text_path(r->path));
    if (r->how.is_new) {
        status = read_settings_file(r->context, folder, &r->settings, error);
    } else {
        status = checkpoint_open(r->context, r->path, &r->checkpoint, &r->identity, error);
        if (!status) status = read_settings(r->path, &r->identity, &r->settings, error);
        if (!status)
            status =
                settings_file_differs(r->context, folder, &r->settings, &r->how.restored, error);
    }
    if (!status) status = apply_changes(folder, r->changes, &r->settings.options, &r->how, error);
    return status;
}

/* Sends the settings that the first process has read to the others. */
static ssm2d_status share_settings(cluster *c, resumed *r, ssm2d_error *error)
{
    char *text = c->rank == 0 ? run_settings_text(&r->settings) : NULL, *copy = NULL;
    size_t size = text ? strlen(text) + 1 : 0;
    ssm2d_status status = SSM2D_OK;
    if (c->rank == 0 && !text) status = fail_memory(error, "settings");
    status = cluster_agree(c, status, error);
    if (!status) status = cluster_broadcast(c, &size, sizeof size, error);
    if (!status) {
        copy = mem_alloc(r->context, size);
        if (!copy) status = fail_memory(error, "settings");
        if (copy && text) memcpy(copy, text, size);
        status = cluster_agree(c, status, error);
    }
    if (!status) status = cluster_broadcast(c, copy, size, error);
    if (!status && c->rank) {
        const train_identity sent = {.options = copy};
        status = read_settings("the settings of rank 0", &sent, &r->settings, error);
    }
    cJSON_free(text);
    mem_free(r->context, copy);
    return cluster_agree(c, status, error);
}

/* Restores the state of the run; read: report on the initial weights, if the run starts again. */
static ssm2d_status restore(resumed *r, trainer *t, weights_report *read, ssm2d_error *error)
{
    if (r->how.is_new) {
        const ssm2d_status status = trainer_start(t, read, error);
        if (strcmp(r->settings.options.start, "random")) r->how.read = read;
        return status;
    }
    ssm2d_status status = check_model(r->path, t, &r->identity, error);
    if (!status) status = check_data(r->path, t, &r->identity, error);
    if (!status) status = checkpoint_read(r->checkpoint, &t->state, error);
    if (!status) status = check_state(r->path, t, error);
    checkpoint_close(r->checkpoint);
    r->checkpoint = NULL;
    return status;
}

ssm2d_status train_resume(ssm2d_context *context, const char *folder, const run_control *control,
                          train_result *result, ssm2d_error *error)
{
    return train_resume_changed(context, folder, &(train_changes){0}, control, result, error);
}

ssm2d_status train_resume_changed(ssm2d_context *context, const char *folder,
                                  const train_changes *changes, const run_control *control,
                                  train_result *result, ssm2d_error *error)
{
    cluster alone, *c = cluster_of(control, &alone);
    const int first = c->rank == 0;
    trainer t = {0};
    weights_report read;
    resumed r = {.context = context, .folder = folder, .changes = changes, .lock = -1};
    ssm2d_status status = cluster_agree(c, first ? open_run(&r, error) : SSM2D_OK, error);
    if (!status && c->size > 1) status = share_settings(c, &r, error);
    if (!status) status = trainer_create(context, c, &r.settings, control, &t, error);
    if (!status) status = cluster_agree(c, first ? restore(&r, &t, &read, error) : SSM2D_OK, error);
    if (!status) status = trainer_share_state(&t, error);
    if (!status) status = train_loop(&t, folder, r.lock, &r.how, result, error);
    checkpoint_close(r.checkpoint);
    run_unlock(r.lock);
    trainer_destroy(&t);
    return status;
}
