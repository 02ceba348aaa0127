/* How a run begins, is replaced, or goes on: everything is looked at under the folder's lock before
 * the loop writes. */
#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"
#include "train/run_training.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- beginning ------------------------------------------------------------------------------- */

/* Makes the path of the data absolute, so that the run can be used from any folder. It is
 * left as it is when there is no such folder, which may be a name with a mistake; when it becomes
 * too long; and when the current folder has no name. */
static void fix_data(char data[SSM2D_TEXT])
{
    char here[RUN_PATH], absolute[SSM2D_TEXT];
    if (dataset_present(data) && getcwd(here, sizeof here) && *here == '/'
        && dataset_rebase(data, here, absolute, sizeof absolute))
        memcpy(data, absolute, sizeof absolute);
}

/* The same for the file of initial weights. */
static void fix_start(char start[SSM2D_TEXT])
{
    char here[RUN_PATH], absolute[SSM2D_TEXT];
    if (!strcmp(start, "random") || *start == '/' || !getcwd(here, sizeof here) || *here != '/')
        return;
    const int length = snprintf(absolute, sizeof absolute, "%s/%s", here, start);
    if (length > 0 && length < (int)sizeof absolute) memcpy(start, absolute, sizeof absolute);
}

static ssm2d_status start_run(ssm2d_context *context, const char *folder, int replace,
                              const train_settings *given, const train_hooks *hooks,
                              train_result *result, ssm2d_error *error)
{
    train_settings fixed = *given;
    const train_settings *settings = &fixed;
    fix_data(fixed.options.data);
    fix_start(fixed.options.start);
    trainer t = {0};
    weights_report read;
    start_info how = {.is_new = 1};
    int lock = -1;
    ssm2d_status status = trainer_create(context, settings, &t, error);
    if (!status) status = trainer_start(&t, &read, error);
    if (!status) status = folder_make(folder, error);
    if (!status) status = run_lock(folder, &lock, error);
    if (!status) temporaries_remove(lock);
    if (!status && replace) status = run_remove(context, folder, error);
    /* under the lock: another process may have begun a run since the caller looked */
    if (!status) status = run_check_new(folder, error);
    if (strcmp(settings->options.start, "random")) how.read = &read;
    if (!status) {
        status = run_training(&t, folder, lock, &how, hooks, result, error);
        if (status && run_not_begun(folder) && !run_still_there(folder, lock, NULL))
            run_abandon(folder);
    }
    run_unlock(lock);
    trainer_destroy(&t);
    return status;
}

ssm2d_status train_begin(ssm2d_context *context, const char *folder, const train_settings *settings,
                         const train_hooks *hooks, train_result *result, ssm2d_error *error)
{
    if (run_exists(folder))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has a run already: resume it, or give another folder", text_path(folder));
    return start_run(context, folder, 0, settings, hooks, result, error);
}

ssm2d_status train_replace(ssm2d_context *context, const char *folder,
                           const train_settings *settings, const train_hooks *hooks,
                           train_result *result, ssm2d_error *error)
{
    return start_run(context, folder, 1, settings, hooks, result, error);
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Reads the settings in a checkpoint. */
static ssm2d_status read_settings(const char *path, const train_identity *identity,
                                  train_settings *settings, ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = train_settings_default(settings, error);
    if (!status)
        status = json_parse(path, identity->options, strlen(identity->options), &root, error);
    if (!status) status = train_settings_from_json(settings, path, root, error);
    cJSON_Delete(root);
    return status;
}

/* Refuses a checkpoint of another model. Models are compared by value, not as texts, so that a
 * version with more settings accepts the checkpoints of one that had fewer. */
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

/* Refuses data that differ from the checkpoint's description of them, which may have fewer keys
 * than this version writes. */
static ssm2d_status check_data(const char *path, const trainer *t, const train_identity *identity,
                               ssm2d_error *error)
{
    cJSON *old = NULL, *new = NULL;
    ssm2d_status status = json_parse(path, identity->data, strlen(identity->data), &old, error);
    if (!status) status = json_parse(path, t->identity.data, strlen(t->identity.data), &new, error);
    /* "labels" is there only when they are binary */
    int same = !status && cJSON_IsObject(old)
               && !cJSON_HasObjectItem(old, "labels") == !cJSON_HasObjectItem(new, "labels");
    for (const cJSON *item = same ? old->child : NULL; item && same; item = item->next)
        same = cJSON_Compare(item, cJSON_GetObjectItemCaseSensitive(new, item->string), 1);
    cJSON_Delete(old);
    cJSON_Delete(new);
    if (status || same) return status;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the data in %s are not those the run began with",
                text_path(path), text_path(t->settings.options.data));
}

/* Refuses counters that do not fit each other, or more epochs than the run has. */
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

static ssm2d_status apply_changes(const char *folder, const train_changes *c, train_options *o,
                                  start_info *how, ssm2d_error *error)
{
    char number[32], before[SSM2D_TEXT];
    ssm2d_status status = SSM2D_OK;
    memcpy(before, o->data, sizeof before);
    if (c->data)
        status = train_options_set(o, "data", c->data, error);
    else
        how->changed |= run_find_data(folder, before, o->data);
    if (c->data || how->changed) fix_data(o->data);
    how->changed |= strcmp(before, o->data) != 0;
    if (c->epochs && c->epochs != o->epochs && !status) {
        snprintf(number, sizeof number, "%ld", c->epochs);
        status = train_options_set(o, "epochs", number, error);
        how->changed = 1;
    }
    if (c->workers && c->workers != o->workers) {
        o->workers = c->workers;
        how->changed = 1;
    }
    const int memory = o->memory;
    if (c->memory && !status) status = train_options_set(o, "memory", c->memory, error);
    how->changed |= o->memory != memory;
    return status;
}

/* Whether train.json has other settings than the checkpoint, or is not readable. Somebody who
 * edited it expects the changes to count, and has to be told that they do not. Fails for want of
 * memory alone. */
static ssm2d_status settings_file_differs(const ssm2d_context *context, const char *folder,
                                          const train_settings *settings, int *differs,
                                          ssm2d_error *error)
{
    char path[RUN_PATH];
    train_settings found;
    ssm2d_status status = run_path(folder, RUN_TRAIN, path, error);
    if (!status) status = train_settings_default(&found, error);
    if (!status) status = train_settings_read(context, path, 0, &found, error);
    int same = 0;
    if (!status) status = train_settings_same(&found, settings, &same, error);
    *differs = !same;
    return status == SSM2D_ERROR_MEMORY ? status : SSM2D_OK;
}

/* Starts a run again that was ended before its first checkpoint was written. */
static ssm2d_status begin_again(ssm2d_context *context, const char *folder, int lock,
                                const train_changes *changes, const train_hooks *hooks,
                                train_result *result, ssm2d_error *error)
{
    trainer t = {0};
    weights_report read;
    start_info how = {.is_new = 1};
    train_settings settings;
    char path[RUN_PATH];
    ssm2d_status status = run_path(folder, RUN_TRAIN, path, error);
    if (!status) status = train_settings_default(&settings, error);
    if (!status) status = train_settings_read(context, path, 0, &settings, error);
    if (!status) status = apply_changes(folder, changes, &settings.options, &how, error);
    if (!status) status = trainer_create(context, &settings, &t, error);
    if (!status) status = trainer_start(&t, &read, error);
    if (!status && strcmp(settings.options.start, "random")) how.read = &read;
    if (!status) status = run_training(&t, folder, lock, &how, hooks, result, error);
    trainer_destroy(&t);
    return status;
}

ssm2d_status train_resume(ssm2d_context *context, const char *folder, const train_hooks *hooks,
                          train_result *result, ssm2d_error *error)
{
    return train_resume_changed(context, folder, &(train_changes){0}, hooks, result, error);
}

ssm2d_status train_resume_changed(ssm2d_context *context, const char *folder,
                                  const train_changes *changes, const train_hooks *hooks,
                                  train_result *result, ssm2d_error *error)
{
    trainer t = {0};
    start_info how = {0};
    checkpoint *c = NULL;
    train_identity identity;
    train_settings settings;
    char path[RUN_PATH];
    int lock = -1;
    ssm2d_status status;
    if (!run_exists(folder))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: is not the folder of a run: it has no train.json", text_path(folder));
    if ((status = run_path(folder, RUN_LAST, path, error))) return status;
    if ((status = run_lock(folder, &lock, error))) goto done;
    temporaries_remove(lock);
    if (run_not_begun(folder)) {
        status = begin_again(context, folder, lock, changes, hooks, result, error);
        goto done;
    }
    if ((status = checkpoint_open(context, path, &c, &identity, error))) goto done;
    if ((status = read_settings(path, &identity, &settings, error))) goto done;
    if ((status = settings_file_differs(context, folder, &settings, &how.restored, error)))
        goto done;
    if ((status = apply_changes(folder, changes, &settings.options, &how, error))) goto done;
    if ((status = trainer_create(context, &settings, &t, error))) goto done;
    if ((status = check_model(path, &t, &identity, error))) goto done;
    if ((status = check_data(path, &t, &identity, error))) goto done;
    if ((status = checkpoint_read(c, &t.state, error))) goto done;
    if ((status = check_state(path, &t, error))) goto done;
    checkpoint_close(c);
    c = NULL;
    status = run_training(&t, folder, lock, &how, hooks, result, error);
done:
    checkpoint_close(c);
    run_unlock(lock);
    trainer_destroy(&t);
    return status;
}
