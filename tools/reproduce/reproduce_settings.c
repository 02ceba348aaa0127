#include "reproduce_settings.h"

#include "core/status.h"
#include "io/json.h"
#include "io/text.h"
#include "train/run_folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 64, WHAT = 4 * SHOWN };

static void leave_out(cJSON *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

cJSON *reproduce_settings_json(const train_settings *s)
{
    static const char *const others[] = {"data", "seed", "slices", "task", "loss"};
    cJSON *root = train_settings_to_json(s), *next;
    if (!root) return NULL;
    for (cJSON *item = root->child; item; item = next) {
        next = item->next;
        if (!train_setting_affects_result(item->string))
            cJSON_Delete(cJSON_DetachItemViaPointer(root, item));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) leave_out(root, others[i]);
    const cJSON *patch = cJSON_GetObjectItemCaseSensitive(root, "patch");
    /* these follow from the data */
    if (patch && patch->valueint == 0) leave_out(root, "patch");
    if (!s->model.image[0]) leave_out(root, "image");
    if (!s->model.channels) leave_out(root, "channels");
    if (!s->model.outputs) leave_out(root, OUTPUTS_KEY);
    if (train_settings_is_open(s, "eval_crop")) leave_out(root, "eval_crop");
    return root;
}

static const char *show(const cJSON *value, char text[SHOWN])
{
    return value ? json_show(value, text, SHOWN) : "missing";
}

/* Compares two objects of settings; those of a mixer are a nested object. whole: settings that only
 * `there` has count as well. Returns whether they are the same; otherwise `what` names the first
 * difference. */
static int same_settings(const cJSON *there, const cJSON *here, int whole, const char *prefix,
                         char *what, size_t size)
{
    for (const cJSON *a = here->child; a; a = a->next) {
        const cJSON *b = cJSON_GetObjectItemCaseSensitive(there, a->string);
        char name[SHOWN], one[SHOWN], two[SHOWN];
        snprintf(name, sizeof name, "%s%s", prefix, a->string);
        if (b && cJSON_Compare(a, b, 1)) continue;
        if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
            if (same_settings(b, a, whole, "mixer.", what, size)) continue;
            return 0;
        }
        snprintf(what, size, "%s is %s there and %s here", name, show(b, one), show(a, two));
        return 0;
    }
    for (const cJSON *b = there->child; b && whole; b = b->next)
        if (!cJSON_GetObjectItemCaseSensitive(here, b->string)) {
            snprintf(what, size, "%s%s is given there and not here", prefix, b->string);
            return 0;
        }
    return 1;
}

/* Compares the settings in an object of a file with those that a run would have. */
static ssm2d_status check(const char *path, const cJSON *object, const planned_run *run, int whole,
                          char *what, size_t size, int *same, ssm2d_error *error)
{
    train_settings planned, read;
    ssm2d_status status = plan_settings(run, &planned, error);
    if (!status) status = train_settings_begin(&read, error);
    if (!status) status = train_settings_from_json(&read, path, object, error);
    if (status) return status;
    cJSON *here = reproduce_settings_json(&planned), *there = reproduce_settings_json(&read);
    if (here && there)
        *same = same_settings(there, here, whole, "", what, size);
    else
        status = fail_memory(error, "comparing settings");
    cJSON_Delete(here);
    cJSON_Delete(there);
    return status;
}

/* ---- data ------------------------------------------------------------------------------------ */

cJSON *reproduce_data_json(const data_choice *data)
{
    cJSON *o = cJSON_CreateObject();
    if (o && cJSON_AddNumberToObject(o, "count", (double)data->facts.images)
        && cJSON_AddNumberToObject(o, "classes", data->facts.labels)
        && cJSON_AddNumberToObject(o, "channels", data->facts.channels))
        return o;
    cJSON_Delete(o);
    return NULL;
}

/* Whether an object describes the images of the run; missing keys are not compared. */
static int same_data(const cJSON *images, const data_choice *data, char *what, size_t size)
{
    const struct {
        const char *key, *name;
        double here;
    } numbers[] = {{"count", "number of training images", (double)data->facts.images},
                   {"classes", "number of classes", data->facts.labels},
                   {"channels", "number of channels", data->facts.channels}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const cJSON *there = cJSON_GetObjectItemCaseSensitive(images, numbers[i].key);
        if (!cJSON_IsNumber(there) || there->valuedouble == numbers[i].here) continue;
        snprintf(what, size, "the %s is %.10g there and %.10g here", numbers[i].name,
                 there->valuedouble, numbers[i].here);
        return 0;
    }
    return 1;
}

/* ---- runs ------------------------------------------------------------------------------------ */

ssm2d_status reproduce_settings_check(const char *path, const cJSON *cell, const planned_run *run,
                                      ssm2d_error *error)
{
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(cell, "settings"),
                *images = cJSON_GetObjectItemCaseSensitive(cell, "images");
    char what[WHAT];
    int same = 1;
    if (!cJSON_IsObject(settings) || !cJSON_IsObject(images))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has no \"%s\" of run %s: only tables of this or a later version can be "
                    "imported",
                    text_path(path), cJSON_IsObject(settings) ? "images" : "settings", run->name);
    const ssm2d_status status = check(path, settings, run, 1, what, sizeof what, &same, error);
    if (status) return status;
    if (!same)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: run %s had other settings there: %s; leave this file out", text_path(path),
                    run->name, what);
    if (!same_data(images, run->data, what, sizeof what))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: run %s had other data there: %s; leave this file out", text_path(path),
                    run->name, what);
    return SSM2D_OK;
}

/* Compares with the settings of the run in a folder: those beside its result, or its own.
 * Unreadable files count as equal; running the run reports them. */
static int is_the_planned(const ssm2d_context *context, const planned_run *run, char *what,
                          size_t size)
{
    char path[RUN_PATH];
    cJSON *root = NULL;
    int same = 1;
    snprintf(path, sizeof path, "%s/" RESULT_FILE, run->folder);
    if (access(path, F_OK)) snprintf(path, sizeof path, "%s", run->taken);
    if (!access(path, F_OK) && !json_read_regular(context, path, &root, NULL)) {
        const cJSON *settings = cJSON_GetObjectItemCaseSensitive(root, "settings");
        const int has = cJSON_IsObject(settings);
        if (has && check(path, settings, run, 1, what, size, &same, NULL)) same = 1;
        if (same)
            same =
                same_data(cJSON_GetObjectItemCaseSensitive(root, "images"), run->data, what, size);
        cJSON_Delete(root);
        if (has) return same;
    }
    if (run_path(run->folder, RUN_TRAIN, path, NULL) || access(path, F_OK)
        || json_read_regular(context, path, &root, NULL))
        return 1;
    if (check(path, root, run, 0, what, size, &same, NULL)) same = 1;
    /* its channels are the model's, which may differ from those of the data */
    cJSON_DeleteItemFromObjectCaseSensitive(root, "channels");
    if (same) same = same_data(root, run->data, what, size);
    cJSON_Delete(root);
    return same;
}

ssm2d_status reproduce_settings_check_begun(const ssm2d_context *context, const plan *p,
                                            ssm2d_error *error)
{
    char what[WHAT];
    for (int i = 0; i < p->all; i++)
        if (!is_the_planned(context, &p->runs[i], what, sizeof what))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s was begun with other settings or data: %s; give another "
                        "--out, or remove this folder",
                        text_path(p->runs[i].folder), what);
    return SSM2D_OK;
}
