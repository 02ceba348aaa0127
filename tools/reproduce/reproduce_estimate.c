#include "reproduce_estimate.h"

#include "core/arith.h"
#include "core/status.h"
#include "io/json.h"
#include "tools/progress.h"
#include "tools/runs/train_view.h"
#include "tools/stop_signals.h"
#include "train/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 3 };

/* What is measured does not depend on the seed, and the time of a step not on the number of images
 * and epochs either; on the number of threads all does. */
static void step_key(const planned_run *run, int threads, char key[2 * PLAN_NAME])
{
    char *to = key;
    snprintf(key, 2 * PLAN_NAME, "%d threads: ", threads);
    to += strlen(to);
    for (const char *s = run->setup; *s;) {
        const size_t length = strcspn(s, "+");
        if (strncmp(s, "part=", 5) && strncmp(s, "epochs=", 7))
            to += sprintf(to, "%.*s+", (int)length, s);
        s += length + (s[length] == '+');
    }
}

/* A positive number of an entry, or 0. */
static double get(const cJSON *entry, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, key);
    return cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < 1e9
               ? value->valuedouble
               : 0;
}

static int set(cJSON *entry, const char *key, double value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(entry, key);
    return cJSON_AddNumberToObject(entry, key, value) != NULL;
}

static cJSON *entry_of(cJSON *root, const char *key)
{
    cJSON *entry = cJSON_GetObjectItemCaseSensitive(root, key);
    if (entry && !cJSON_IsObject(entry)) {
        cJSON_DeleteItemFromObjectCaseSensitive(root, key);
        entry = NULL;
    }
    return entry ? entry : cJSON_AddObjectToObject(root, key);
}

/* The cost of a run: what is kept, completed by measuring. *measured is set when something is
 * new. */
static ssm2d_status cost_of(ssm2d_context *context, const planned_run *run, cJSON *root,
                            train_cost *cost, int *measured, ssm2d_error *error)
{
    char key[2 * PLAN_NAME];
    train_settings settings;
    step_key(run, ssm2d_context_threads(context), key);
    cJSON *steps = entry_of(root, key), *counts = entry_of(root, run->setup);
    if (!steps || !counts) return fail_memory(error, "estimates");
    *cost = (train_cost){.epochs = (long)get(counts, "epochs"),
                         .epoch_steps = (long)get(counts, "epoch_steps"),
                         .test_batches = (long)get(counts, "test_batches"),
                         .step_seconds = get(steps, "step_seconds"),
                         .test_seconds = get(steps, "test_seconds")};
    const int timed = cost->step_seconds > 0 && cost->test_seconds > 0;
    if (timed && cost->epochs && cost->epoch_steps && cost->test_batches) return SSM2D_OK;
    ssm2d_status status = plan_settings(run, &settings, error);
    if (!status) status = train_measure(context, &settings, timed ? 0 : STEPS, cost, error);
    if (status) return status;
    *measured = 1;
    if (set(counts, "epochs", (double)cost->epochs)
        && set(counts, "epoch_steps", (double)cost->epoch_steps)
        && set(counts, "test_batches", (double)cost->test_batches)
        && set(steps, "step_seconds", cost->step_seconds)
        && set(steps, "test_seconds", cost->test_seconds))
        return SSM2D_OK;
    return fail_memory(error, "estimates");
}

/* Whether a file has the form of ours: an object of objects. */
static int is_list(const cJSON *root)
{
    if (!cJSON_IsObject(root)) return 0;
    for (const cJSON *item = root->child; item; item = item->next)
        if (!cJSON_IsObject(item)) return 0;
    return 1;
}

ssm2d_status reproduce_estimate(ssm2d_context *context, const plan *p, run_estimate *estimates,
                                ssm2d_error *first_failure, ssm2d_error *error)
{
    char path[PLAN_PATH + 32];
    cJSON *root = NULL;
    int measured = 0;
    ssm2d_status status = SSM2D_OK;
    *first_failure = (ssm2d_error){""};
    snprintf(path, sizeof path, "%s/estimates.json", p->options.out);
    /* what cannot be read is measured again, and a file that is not ours is left alone */
    const int is_new = access(path, F_OK) != 0;
    const int is_ours = !is_new && !json_read_regular(context, path, &root, NULL) && is_list(root);
    if (!is_ours) {
        cJSON_Delete(root);
        root = cJSON_CreateObject();
    }
    if (!root) return fail_memory(error, "estimates");
    progress shown = progress_start("ssm2d reproduce: measuring run", (size_t)p->count);
    for (int i = 0; i < p->count && !status; i++) {
        const planned_run *run = &p->runs[i];
        run_estimate *e = &estimates[i];
        train_cost cost = {0};
        ssm2d_error why = {""};
        run_result result;
        *e = (run_estimate){.state = reproduce_state(context, run, &result, NULL), .seconds = NAN};
        if (e->state == RUN_DONE) {
            e->epochs = e->done = (long)result.epochs;
            e->seconds = 0;
        }
        if (e->state == RUN_DONE || stop_requested(NULL)) continue;
        status = cost_of(context, run, root, &cost, &measured, &why);
        progress_show(&shown, (size_t)i + 1);
        if (status == SSM2D_ERROR_MEMORY) {
            *error = why;
            break;
        }
        if (status && !*first_failure->line) *first_failure = why;
        if (!status) {
            e->epochs = cost.epochs;
            e->done = reproduce_epochs_done(context, run);
            if (e->done > e->epochs) e->done = e->epochs;
            cost.epochs -= e->done;
            e->seconds = train_cost_seconds(&cost);
        }
        status = SSM2D_OK;
    }
    progress_end(&shown);
    if (!status && measured && (is_new || is_ours))
        json_write(context, path, root, NULL); /* what cannot be kept is measured again */
    else
        cJSON_Delete(root);
    return status;
}

void reproduce_print_plan(const plan *p, const run_estimate *estimates)
{
    int width = 3, unknown = 0;
    double total = 0;
    char time[32];
    for (int i = 0; i < p->count; i++) width = max_int(width, (int)strlen(p->runs[i].name));
    printf("%-*s  epochs  about     state\n", width, "run");
    for (int i = 0; i < p->count; i++) {
        const run_estimate *e = &estimates[i];
        if (isnan(e->seconds)) {
            unknown++;
            snprintf(time, sizeof time, "-");
        } else {
            total += e->seconds;
            clock_text(e->seconds, time, sizeof time);
        }
        printf("%-*s  %6ld  %-8s  %s", width, p->runs[i].name, e->epochs, time,
               run_state_name(e->state));
        if (e->state == RUN_PARTLY) printf(", %ld of %ld epochs", e->done, e->epochs);
        printf("\n");
    }
    printf("%d run%s, about %s to go", p->count, p->count == 1 ? "" : "s",
           clock_text(total, time, sizeof time));
    if (unknown) printf(", without %d that could not be measured", unknown);
    printf("\n");
}
