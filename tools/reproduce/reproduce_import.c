#include "reproduce_import.h"

#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"
#include "reproduce_result.h"
#include "reproduce_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static ssm2d_status read_run(const char *path, const cJSON *o, const char *name, run_result *r,
                             ssm2d_error *error)
{
    const char *by = "";
    char shown[64];
    ssm2d_error why;
    ssm2d_status status = run_result_from_json(path, o, 100, r, &why);
    if (!status) status = json_get_string(path, o, "best_chosen_by", JSON_REQUIRED, &by, &why);
    if (status) return fail(error, status, "%.250s, in run %s", why.line, name);
    for (int c = CHOICE_TEST; c <= CHOICE_HELD_OUT && !status; c++)
        if (!strcmp(split_choice_name((split_choice)c), by)) {
            r->choice = (split_choice)c;
            return SSM2D_OK;
        }
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"best_chosen_by\" of run %s is %s",
                text_path(path), name, text_show(by, strlen(by), shown, sizeof shown));
}

static const planned_run *find_run(const plan *p, const char *name)
{
    for (int i = 0; i < p->all; i++)
        if (!strcmp(p->runs[i].name, name)) return &p->runs[i];
    return NULL;
}

/* Whether an earlier cell of the table has the same run, such as one of another measure. */
static int is_repeated(const cJSON *rows, const cJSON *run, const char *name)
{
    const cJSON *row, *cell, *o;
    cJSON_ArrayForEach(row, rows)
        cJSON_ArrayForEach(cell, cJSON_GetObjectItemCaseSensitive(row, "cells"))
            cJSON_ArrayForEach(o, cJSON_GetObjectItemCaseSensitive(cell, "runs"))
    {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(o, "name");
        if (o == run) return 0;
        if (cJSON_IsString(other) && !strcmp(other->valuestring, name)) return 1;
    }
    return 0;
}

/* The planned run that a result is imported for, or NULL. */
static const planned_run *wanted(const ssm2d_context *context, const plan *p, const cJSON *rows,
                                 const cJSON *o, import_counts *counts)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(o, "name"),
                *state = cJSON_GetObjectItemCaseSensitive(o, "state");
    if (!cJSON_IsString(name) || !cJSON_IsString(state)) return NULL;
    if (strcmp(state->valuestring, run_state_name(RUN_DONE))) return NULL;
    if (is_repeated(rows, o, name->valuestring)) return NULL;
    const planned_run *run = find_run(p, name->valuestring);
    counts->others += !run;
    if (!run) return NULL;
    const run_state here = reproduce_state(context, run, NULL, NULL);
    if (here == RUN_OPEN || here == RUN_FAILED) return run;
    counts->here++;
    return NULL;
}

/* Checks the results of a cell; imports them if `is_checked`, which means that all results of the
 * file have been checked. */
static ssm2d_status import_cell(const ssm2d_context *context, const plan *p, const char *path,
                                const cJSON *rows, const cJSON *cell, int is_checked,
                                import_counts *counts, ssm2d_error *error)
{
    const cJSON *o, *runs = cJSON_GetObjectItemCaseSensitive(cell, "runs");
    cJSON_ArrayForEach(o, runs)
    {
        const planned_run *run = wanted(context, p, rows, o, counts);
        run_result r;
        if (!run) continue;
        ssm2d_status status = reproduce_settings_check(path, cell, run, error);
        if (!status) status = read_run(path, o, run->name, &r, error);
        if (status) return status;
        if (!is_checked || !run_result_suffices(&r, run)) continue;
        if ((status = reproduce_result_write(context, run, run->taken, &r, error))) return status;
        if ((status = reproduce_note_failure(context, run, NULL, error))) return status;
        counts->taken++;
    }
    return SSM2D_OK;
}

ssm2d_status reproduce_import(const ssm2d_context *context, const plan *p, const char *path,
                              import_counts *counts, ssm2d_error *error)
{
    char folder[PLAN_PATH];
    cJSON *root = NULL;
    const cJSON *row, *cell;
    snprintf(folder, sizeof folder, "%s/taken", p->options.out);
    ssm2d_status status = json_read_regular(context, path, &root, error);
    if (!status) status = folder_make(folder, error);
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, "rows");
    if (!status && !cJSON_IsArray(rows))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: has no list \"rows\": give a table that ssm2d reproduce wrote, such as "
                      "table5.json",
                      text_path(path));
    for (int is_checked = 0; is_checked < 2 && !status; is_checked++) {
        *counts = (import_counts){0};
        cJSON_ArrayForEach(row, rows)
        {
            cJSON_ArrayForEach(cell, cJSON_GetObjectItemCaseSensitive(row, "cells"))
            {
                if (!status)
                    status = import_cell(context, p, path, rows, cell, is_checked, counts, error);
            }
        }
    }
    cJSON_Delete(root);
    return status;
}
