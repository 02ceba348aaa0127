#include "report/report_groups.h"

#include "core/context.h"
#include "core/status.h"
#include "data/dataset.h"
#include "io/file.h"
#include "io/short_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LABEL_KEYS = 5, /* at most, in a label */
    LABEL_NAME = 48 /* at most, of a run's name as a label */
};

/* Whether a setting distinguishes groups: not the seed, nor settings that do not affect results,
 * such as the number of workers. */
static int key_counts(const char *key)
{
    return strcmp(key, "seed") && train_setting_affects_result(key);
}

/* Whether two runs have the same value of a key, or both lack it. */
static int same_value(const report_run *a, const report_run *b, const char *key)
{
    const char *x = report_run_value(a, key), *y = report_run_value(b, key);
    return x && y ? !strcmp(x, y) : x == y;
}

int report_key_differs(const report *r, const char *key)
{
    const report_run *first = NULL;
    for (int i = 0; i < r->run_count; i++) {
        if (!r->runs[i].known) continue;
        if (!first) first = &r->runs[i];
        if (!same_value(first, &r->runs[i], key)) return 1;
    }
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int has_key(const report *r, const char *key)
{
    for (int i = 0; i < r->key_count; i++)
        if (!strcmp(r->keys[i], key)) return 1;
    return 0;
}

/* Lists the keys of all runs. */
static ssm2d_status list_keys(report *r, ssm2d_error *error)
{
    size_t all = 1;
    const cJSON *value;
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].known) all += (size_t)cJSON_GetArraySize(r->runs[i].values);
    r->keys = mem_alloc(r->context, all * sizeof *r->keys);
    if (!r->keys) return fail_memory(error, "%zu settings", all);
    for (int i = 0; i < r->run_count; i++) cJSON_ArrayForEach(value, r->runs[i].values)
        {
            if (!has_key(r, value->string)) r->keys[r->key_count++] = value->string;
        }
    return SSM2D_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int same_group(const report *r, const report_run *a, const report_run *b)
{
    if (!a->known || !b->known) return 0;
    for (int i = 0; i < r->key_count; i++)
        if (key_counts(r->keys[i]) && !same_value(a, b, r->keys[i])) return 0;
    return 1;
}

const report_run *group_run(const report *r, int group) { return &r->runs[r->groups[group].first]; }

int report_groups_share(const report *r, int one, int other, const char *key)
{
    return same_value(group_run(r, one), group_run(r, other), key);
}

/* Whether the names of the runs are lists of settings, as `ssm2d reproduce` makes them. */
static int names_are_settings(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        if (strlen(r->runs[i].name) > LABEL_NAME || strstr(r->runs[i].folder, "+seed=")) return 1;
    return 0;
}

/* Whether a group's label is the name of its only run, which says more than many settings. */
static int goes_by_name(const report *r, int group)
{
    if (!group_run(r, group)->known) return 1;
    return r->groups[group].count == 1 && !r->names_are_settings;
}

/* Whether a setting belongs in a group's label: another group has another value. Settings of a
 * model or a mixer are compared within the same kind, because others lack them. Groups with a run's
 * name as label need nothing else. */
static int tells_apart(const report *r, int group, const char *key)
{
    const report_run *one = group_run(r, group);
    const int common = train_settings_is_common(key);
    if (!key_counts(key) || !strcmp(key, "model") || !strcmp(key, "mixer.kind")) return 0;
    for (int i = 0; i < r->group_count; i++) {
        const report_run *other = group_run(r, i);
        if (goes_by_name(r, i) || same_value(one, other, key)) continue;
        if (common || (same_value(one, other, "model") && same_value(one, other, "mixer.kind")))
            return 1;
    }
    return 0;
}

static void append(char label[GROUP_LABEL], const char *text)
{
    const size_t used = strlen(label);
    snprintf(label + used, GROUP_LABEL - used, "%s", text);
}

static void make_label(const report *r, int group)
{
    const report_run *run = group_run(r, group);
    char *label = r->groups[group].label;
    char data[GROUP_LABEL];
    int count = 0;
    *label = 0;
    if (goes_by_name(r, group)) {
        append(label, run->name);
        if (run->known) append(label, " · ");
    }
    if (!run->known) return;
    append(label, run->settings.model.model->name);
    append(label, " · ");
    append(label, run->settings.model.mixer.kind->name);
    if (goes_by_name(r, group)) return;
    /* settings of the model come before those of training */
    for (int i = 0; i < 2 * r->key_count && count <= LABEL_KEYS; i++) {
        const char *key = r->keys[i % r->key_count], *value = report_run_value(run, key);
        if (!value || (i < r->key_count) == train_settings_is_common(key)
            || !tells_apart(r, group, key))
            continue;
        if (count++ == LABEL_KEYS) {
            append(label, ", …");
            break;
        }
        const char *dot = strrchr(key, '.');
        append(label, count == 1 ? " · " : ", ");
        append(label, dot ? dot + 1 : key);
        append(label, " ");
        dataset_title(value, data, sizeof data);
        append(label, strcmp(key, "data") ? value : data);
    }
}

/* Adds the name of the first run to labels that several groups share. */
static void tell_apart(report *r)
{
    for (int g = 0; g < r->group_count; g++) {
        int clash = 0;
        for (int k = 0; k < r->group_count; k++)
            clash |= k != g && !strcmp(r->groups[k].label, r->groups[g].label);
        r->groups[g].unclear = clash;
    }
    for (int g = 0; g < r->group_count; g++) {
        if (!r->groups[g].unclear) continue;
        append(r->groups[g].label, " · ");
        append(r->groups[g].label, group_run(r, g)->name);
    }
}

/* Whether a run represents its group better than `other`: it is known, finished, or has more
 * epochs. */
static int shows_more(const report_run *run, const report_run *other)
{
    if (run->known != other->known) return run->known;
    if ((run->state == REPORT_FINISHED) != (other->state == REPORT_FINISHED))
        return run->state == REPORT_FINISHED;
    return run->done > other->done;
}

/* Sorts the runs into groups, and makes their labels. */
static ssm2d_status make_groups(report *r, ssm2d_error *error)
{
    ssm2d_status status = list_keys(r, error);
    if (status) return status;
    r->groups = mem_alloc(r->context, (size_t)r->run_count * sizeof *r->groups);
    if (!r->groups) return fail_memory(error, "%d runs", r->run_count);
    for (int i = 0; i < r->run_count; i++) {
        report_run *run = &r->runs[i];
        int g = 0;
        while (g < r->group_count && !same_group(r, run, group_run(r, g))) g++;
        if (g == r->group_count) r->groups[r->group_count++] = (report_group){.first = i};
        run->group = g;
        r->groups[g].count++;
        if (shows_more(run, group_run(r, g))) r->groups[g].first = i;
    }
    r->names_are_settings = names_are_settings(r);
    for (int g = 0; g < r->group_count; g++) make_label(r, g);
    tell_apart(r);
    return SSM2D_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Names the runs by the parts in which their folders differ. */
static ssm2d_status name_runs(report *r, ssm2d_error *error)
{
    const char **folders = mem_alloc(r->context, (size_t)r->run_count * sizeof *folders);
    for (int i = 0; i < r->run_count && folders; i++) folders[i] = r->runs[i].folder;
    if (folders) r->names = short_names_make(r->context, folders, r->run_count);
    mem_free(r->context, folders);
    if (!r->names) return fail_memory(error, "names of runs");
    for (int i = 0; i < r->run_count; i++) r->runs[i].name = r->names[i];
    return SSM2D_OK;
}

/* Whether the run was read already, such as a folder and its NAME.failed. */
static int is_known(const report *r, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    for (int i = 0; i < r->run_count; i++) {
        const char *other = r->runs[i].folder;
        if (strlen(other) == length && !strncmp(other, folder, length)) return 1;
        if (file_is_same(other, folder)) return 1;
    }
    return 0;
}

static ssm2d_status read_runs(report *r, const char *const *folders, int count, ssm2d_error *error)
{
    char failed[RUN_PATH];
    ssm2d_status status = SSM2D_OK;
    r->runs = mem_alloc(r->context, (size_t)count * sizeof *r->runs);
    if (!r->runs) return fail_memory(error, "%d runs", count);
    for (int i = 0; i < count && !status; i++) {
        const char *folder = report_is_failure(folders[i], failed) ? failed : folders[i];
        if (is_known(r, folder)) continue;
        status = report_run_read(r->context, folder, &r->runs[r->run_count++], error);
    }
    if (!status) status = name_runs(r, error);
    return status;
}

ssm2d_status report_open(ssm2d_context *context, const char *const *folders, int count, report *r,
                         ssm2d_error *error)
{
    *r = (report){.context = context};
    if (count < 1) return fail(error, SSM2D_ERROR_ARGUMENT, "there is no run to report on");
    ssm2d_status status = read_runs(r, folders, count, error);
    if (!status) status = make_groups(r, error);
    return status;
}

void report_close(report *r)
{
    for (int i = 0; i < r->run_count; i++) report_run_destroy(r->context, &r->runs[i]);
    mem_free(r->context, r->runs);
    mem_free(r->context, r->names);
    mem_free(r->context, r->groups);
    mem_free(r->context, r->keys);
}

/* ---- values ---------------------------------------------------------------------------------- */

int report_is_repeat(const report *r, int run)
{
    for (int i = 0; i < run; i++)
        if (r->runs[i].group == r->runs[run].group && r->runs[i].known
            && r->runs[i].state == r->runs[run].state
            && same_value(&r->runs[i], &r->runs[run], "seed"))
            return 1;
    return 0;
}

spread report_spread(const report *r, int group, double (*get)(const report_run *run))
{
    spread s = spread_none();
    for (int i = 0; i < r->run_count; i++) {
        const report_run *run = &r->runs[i];
        if ((group < 0 || run->group == group) && run->state == REPORT_FINISHED
            && !report_is_repeat(r, i))
            spread_add(&s, get(run));
    }
    return s;
}

double run_last_score(const report_run *run) { return run->last ? run->last->test_score : NAN; }
double run_best_score(const report_run *run) { return run->best ? run->best->test_score : NAN; }

double run_test_score(const report_run *run)
{
    const report_evaluation *e = &run->evaluation;
    return e->done && e->split == DATASET_TEST ? e->result.metrics[0] : NAN;
}

double run_second_metric(const report_run *run)
{
    const report_evaluation *e = &run->evaluation;
    return e->done && e->result.metric_count > 1 ? e->result.metrics[1] : NAN;
}

double run_seconds(const report_run *run)
{
    return run->last && run->last->seconds > 0 ? run->last->seconds : NAN;
}

double run_speed(const report_run *run) { return run->images_per_s > 0 ? run->images_per_s : NAN; }
