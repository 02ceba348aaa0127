#include "reproduce_import.h"

#include "core/status.h"
#include "io/json.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 64 };

/* ---- settings -------------------------------------------------------------------------------- */

static void leave_out(cJSON *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

cJSON *reproduce_settings_json(const train_settings *s)
{
    static const char *const others[] = {"data",         "seed",       "workers",
                                         "memory",       "log_every",  "save_every",
                                         "save_minutes", "bad_images", "max_pixels"};
    cJSON *root = train_settings_to_json(s);
    if (!root) return NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) leave_out(root, others[i]);
    /* what follows from the data */
    if (!s->model.image[0]) leave_out(root, "image");
    if (!s->model.channels) leave_out(root, "channels");
    if (!s->model.classes) leave_out(root, "classes");
    if (s->crop_is_open) leave_out(root, "eval_crop");
    return root;
}

static const char *show(const cJSON *value, char text[SHOWN])
{
    return value ? json_show(value, text, SHOWN) : "missing";
}

/* Compares two objects of settings; a mixer's are an object of their own. Returns whether they are
 * the same; otherwise `what` says in which setting they differ. */
static int same_settings(const cJSON *there, const cJSON *here, const char *prefix, char *what,
                         size_t size)
{
    for (const cJSON *a = here->child; a; a = a->next) {
        const cJSON *b = cJSON_GetObjectItemCaseSensitive(there, a->string);
        char name[SHOWN], one[SHOWN], two[SHOWN];
        snprintf(name, sizeof name, "%s%s", prefix, a->string);
        if (b && cJSON_Compare(a, b, 1)) continue;
        if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
            if (same_settings(b, a, "mixer.", what, size)) continue;
            return 0;
        }
        snprintf(what, size, "%s is %s there and %s here", name, show(b, one), show(a, two));
        return 0;
    }
    for (const cJSON *b = there->child; b; b = b->next)
        if (!cJSON_GetObjectItemCaseSensitive(here, b->string)) {
            snprintf(what, size, "%s%s is given there and not here", prefix, b->string);
            return 0;
        }
    return 1;
}

/* What a file does not say means what it meant when it was written: so the file's settings are read
 * as those of a run's folder are (where eval_crop alone is always said), and then compared. */
static ssm2d_status check_settings(const char *path, const cJSON *object, const planned_run *run,
                                   ssm2d_error *error)
{
    train_settings planned, read;
    char what[4 * SHOWN];
    if (!cJSON_IsObject(object))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has no \"settings\" of run %s: only tables of this version or later ones "
                    "can be taken over",
                    text_path(path), run->name);
    ssm2d_status status = plan_settings(run, &planned, error);
    if (!status) status = train_settings_begin(&read, error);
    if (!status) status = train_settings_from_json(&read, path, object, error);
    if (status) return status;
    cJSON *here = reproduce_settings_json(&planned), *there = reproduce_settings_json(&read);
    if (!here || !there)
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory to compare settings");
    else if (!same_settings(there, here, "", what, sizeof what))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: run %s had other settings there: %s; leave this file out",
                      text_path(path), run->name, what);
    cJSON_Delete(here);
    cJSON_Delete(there);
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static ssm2d_status read_run(const char *path, const cJSON *o, const char *name, run_result *r,
                             ssm2d_error *error)
{
    const char *by = "";
    char shown[SHOWN];
    ssm2d_status status = run_result_from_json(path, o, 100, r, error);
    if (!status) status = json_get_string(path, o, "best_chosen_by", JSON_REQUIRED, &by, error);
    for (int c = CHOICE_TEST; c <= CHOICE_HELD_OUT && !status; c++)
        if (!strcmp(split_choice_name((split_choice)c), by)) {
            r->choice = (split_choice)c;
            return SSM2D_OK;
        }
    return status ? status
                  : fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"best_chosen_by\" of run %s is %s",
                         text_path(path), name, text_show(by, strlen(by), shown, sizeof shown));
}

static const planned_run *find_run(const plan *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->runs[i].name, name)) return &p->runs[i];
    return NULL;
}

/* The run of the plan that a result is to be taken over for, or NULL. */
static const planned_run *wanted(const ssm2d_context *context, const plan *p, const cJSON *o)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(o, "name"),
                *state = cJSON_GetObjectItemCaseSensitive(o, "state");
    if (!cJSON_IsString(name) || !cJSON_IsString(state)) return NULL;
    if (strcmp(state->valuestring, run_state_name(RUN_DONE))) return NULL;
    const planned_run *run = find_run(p, name->valuestring);
    if (!run) return NULL;
    const run_state here = reproduce_state(context, run, NULL, NULL);
    return here == RUN_OPEN || here == RUN_FAILED ? run : NULL;
}

static ssm2d_status import_cell(const ssm2d_context *context, const plan *p, const char *path,
                                const cJSON *cell, int *taken, ssm2d_error *error)
{
    const cJSON *o, *runs = cJSON_GetObjectItemCaseSensitive(cell, "runs"),
                    *settings = cJSON_GetObjectItemCaseSensitive(cell, "settings");
    cJSON_ArrayForEach(o, runs)
    {
        const planned_run *run = wanted(context, p, o);
        run_result r;
        if (!run) continue;
        ssm2d_status status = check_settings(path, settings, run, error);
        if (!status) status = read_run(path, o, run->name, &r, error);
        if (status) return status;
        if (run->top5 && isnan(r.top5)) continue;
        if ((status = reproduce_result_write(context, run, &r, error))) return status;
        if ((status = reproduce_note_failure(context, run, NULL, error))) return status;
        ++*taken;
    }
    return SSM2D_OK;
}

ssm2d_status reproduce_import(const ssm2d_context *context, const plan *p, const char *path,
                              int *taken, ssm2d_error *error)
{
    cJSON *root = NULL;
    const cJSON *row, *cell;
    *taken = 0;
    ssm2d_status status = json_read_regular(context, path, &root, error);
    if (status) return status;
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, "rows");
    if (!cJSON_IsArray(rows))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: has no list \"rows\": give a table that ssm2d reproduce wrote, such as "
                      "table5.json",
                      text_path(path));
    cJSON_ArrayForEach(row, rows)
    {
        cJSON_ArrayForEach(cell, cJSON_GetObjectItemCaseSensitive(row, "cells"))
        {
            if (!status) status = import_cell(context, p, path, cell, taken, error);
        }
    }
    cJSON_Delete(root);
    return status;
}
