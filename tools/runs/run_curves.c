/* ssm2d curves - draws the loss and the metric of a run over its epochs; or any quantities of
 * several runs, each in a panel with a line for every run, or for the mean of runs that differ only
 * in their seed. */
#include "core/context.h"
#include "core/status.h"
#include "draw/canvas.h"
#include "draw/curves.h"
#include "io/text.h"
#include "report/report_groups.h"
#include "tools/command.h"
#include "tools/written.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PANELS = 8 };

typedef struct values {
    word_list runs;
    const char *output, *show;
    int mean, no_title;
} values;

/* ---- quantities ------------------------------------------------------------------------------ */

static double loss(const metric *l) { return l->loss; }
static double score(const metric *l) { return l->score; }
static double test_loss(const metric *l) { return l->test_loss; }
static double test_score(const metric *l) { return l->test_score; }
static double learning_rate(const metric *l) { return l->lr; }
static double norm(const metric *l) { return l->norm; }
static double mixer_norm(const metric *l) { return l->blocks ? l->mixer_norms[0] : NAN; }
static double gain(const metric *l) { return l->blocks ? l->kernel_gains[0] : NAN; }

typedef struct quantity {
    const char *name, *label; /* label: followed by the metric's for a score */
    double (*of)(const metric *line);
    int epochs; /* in the lines of epochs, not of steps */
    int is_log;
    int is_score; /* a value of the task's first metric */
    /* for test images: the label if all runs use validation images instead, or some; NULL: the
     * label */
    const char *validation_label, *mixed_label;
    const char *needs; /* what a run needs to have it; NULL: only time */
} quantity;

static const quantity quantities[] = {
    {"loss", "training loss", loss},
    {"score", "training", score, .epochs = 1, .is_score = 1},
    {"test-loss", "test loss", test_loss, .epochs = 1, .validation_label = "validation loss",
     .mixed_label = "test or validation loss"},
    {"test-score", "test", test_score, .epochs = 1, .is_score = 1, .validation_label = "validation",
     .mixed_label = "test or validation"},
    {"lr", "learning rate", learning_rate},
    {"norm", "norm of the gradient", norm, .is_log = 1},
    {"mixer-norm", "norm of the first mixer's gradient", mixer_norm, .is_log = 1,
     .needs = "a mixer"},
    {"gain", "gain of the first mixer's kernels", gain, .is_log = 1, .needs = "a mixer"},
    {0}};

enum { LABEL = TASK_TITLE + 32 };

static const char *label_of(const quantity *q, const report *r, char text[LABEL])
{
    int validation = 0, test = 0;
    char axis[TASK_TITLE];
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].last) *(r->runs[i].last->validation ? &validation : &test) = 1;
    const char *label = !validation || !q->validation_label ? q->label
                        : test                              ? q->mixed_label
                                                            : q->validation_label;
    if (!q->is_score) return label;
    snprintf(text, LABEL, "%s %s", label, metric_axis(&r->runs[0].task->metrics[0], axis));
    return text;
}

static double value_of(const quantity *q, const report_run *run, const metric *line)
{
    return q->is_score ? run->task->metrics[0].scale * q->of(line) : q->of(line);
}

static int is_same(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && !strncmp(name, text, length);
}

/* A score may also be named by the key of its metric, of any task. */
static int is_called(const quantity *q, const char *text, size_t length)
{
    static const char test[] = "test-";
    const size_t skipped = strncmp(q->name, test, strlen(test)) ? 0 : strlen(test);
    if (is_same(q->name, text, length)) return 1;
    if (!q->is_score || length < skipped || strncmp(text, q->name, skipped)) return 0;
    for (int i = 0; task_at(i); i++)
        if (is_same(task_at(i)->metrics[0].key, text + skipped, length - skipped)) return 1;
    return 0;
}

/* Parses a comma-separated list of names. */
static ssm2d_status choose(const char *names, const quantity *chosen[MAX_PANELS], int *count,
                           ssm2d_error *error)
{
    char shown[64];
    *count = 0;
    for (const char *at = names;; at++) {
        const size_t length = strcspn(at, ",");
        const quantity *q = quantities;
        while (q->name && !is_called(q, at, length)) q++;
        if (!q->name)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "--show %s: use a comma-separated list of loss, score, test-loss, "
                        "test-score, lr, norm, mixer-norm and gain",
                        text_show(at, length, shown, sizeof shown));
        if (*count == MAX_PANELS)
            return fail(error, SSM2D_ERROR_ARGUMENT, "--show: a picture has at most %d panels",
                        MAX_PANELS);
        chosen[(*count)++] = q;
        at += length;
        if (!*at) return SSM2D_OK;
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static const option options[] = {
    {"RUN", OPTION_LIST, offsetof(values, runs), "folders of runs", .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "picture to write: .png, .svg or .pdf",
     .value = "FILE", .letter = 'o', .required = 1},
    {"show", OPTION_STRING, offsetof(values, show),
     "the panels, each with a line per run: a comma-separated list of loss, score (the metric of "
     "the task, also by its own name), test-loss, test-score, lr, norm (of the gradient), "
     "mixer-norm and gain (of the first mixer); when not given, loss,test-score for several runs",
     .value = "NAMES"},
    {"mean", OPTION_FLAG, offsetof(values, mean),
     "one line for all runs that differ only in their seed: their mean, in a band of plus or minus "
     "one standard deviation (n - 1)"},
    {"no-title", OPTION_FLAG, offsetof(values, no_title),
     "omit the title and the note below, for a figure that has a caption"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    const quantity *chosen[MAX_PANELS];
    int count;
    ssm2d_status status = canvas_check(o->output, error);
    if (!status && o->show) status = choose(o->show, chosen, &count, error);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The points of a line: [count] each. */
typedef struct points {
    double *x, *y, *spread;
    int count;
} points;

static size_t lines_of(const report_run *run)
{
    size_t count = 0;
    while (metrics_line(run->metrics, count)) count++;
    return count;
}

static void take_run(const report_run *run, const quantity *q, points *out)
{
    const metric *l;
    for (size_t i = 0; (l = metrics_line(run->metrics, i)); i++) {
        if (l->is_epoch != q->epochs) continue;
        out->x[out->count] = l->epoch;
        out->y[out->count] = value_of(q, run, l);
        out->spread[out->count++] = NAN;
    }
}

/* Adds mean and deviation over the runs of a group that have reached `line`, which is one of
 * theirs. Returns 0 if one of them has no line at that step. at[run] is where the search for it
 * starts. */
static int mean_at(const report *r, int group, const quantity *q, const metric *line, size_t *at,
                   points *out)
{
    spread s = spread_none();
    for (int i = 0; i < r->run_count; i++) {
        const report_run *run = &r->runs[i];
        const metric *l;
        if (run->group != group || report_is_repeat(r, i)) continue;
        while ((l = metrics_line(run->metrics, at[i]))
               && (l->is_epoch != q->epochs || l->step < line->step))
            at[i]++;
        if (!l) continue;
        if (l->step > line->step) return 0;
        spread_add(&s, value_of(q, run, l));
    }
    out->x[out->count] = line->epoch;
    out->y[out->count] = s.mean;
    out->spread[out->count++] = s.deviation;
    return 1;
}

/* The run of a group with the most lines, without repeats. */
static const report_run *longest_run(const report *r, int group)
{
    const report_run *longest = NULL;
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].group == group && !report_is_repeat(r, i)
            && (!longest || lines_of(&r->runs[i]) > lines_of(longest)))
            longest = &r->runs[i];
    return longest;
}

static ssm2d_status take_mean(const report *r, int group, const quantity *q, points *out,
                              ssm2d_error *error)
{
    const report_run *first = longest_run(r, group);
    const metric *l;
    int missed = 0;
    size_t *at = mem_alloc(r->context, (size_t)r->run_count * sizeof *at);
    if (!at) return fail_memory(error, "%d runs", r->run_count);
    for (size_t i = 0; (l = metrics_line(first->metrics, i)); i++)
        if (l->is_epoch == q->epochs) missed |= !mean_at(r, group, q, l, at, out);
    mem_free(r->context, at);
    if (out->count || !missed) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "--mean: the runs of %s have no lines of %s at the same steps, because their "
                "log_every differs: omit --mean, or %s",
                r->groups[group].label, q->name, q->name);
}

static const char *title_of(const values *o, const report_run *run, char title[RUN_TITLE])
{
    return o->no_title ? NULL : run_title(&run->settings, title);
}

static const char *note_of(const values *o, const report *r, char note[LOSS_NOTE])
{
    return o->no_title ? NULL : report_loss_note(r, note);
}

static int has_points(const curve_panel *p)
{
    for (int c = 0; c < p->count; c++)
        for (int i = 0; i < p->curves[c].count; i++)
            if (isfinite(p->curves[c].y[i])) return 1;
    return 0;
}

static ssm2d_status draw_together(const ssm2d_context *context, const values *o, const report *r,
                                  ssm2d_error *error)
{
    const quantity *chosen[MAX_PANELS];
    curve_panel panels[MAX_PANELS];
    char title[RUN_TITLE], note[LOSS_NOTE], labels[MAX_PANELS][LABEL];
    int panel_count, has_loss = 0;
    size_t max_lines = 0;
    long epochs = 1;
    ssm2d_status status =
        choose(o->show ? o->show : "loss,test-score", chosen, &panel_count, error);
    if (status) return status;
    for (int i = 0; i < r->run_count; i++) {
        const size_t own = lines_of(&r->runs[i]);
        if (own > max_lines) max_lines = own;
        if (r->runs[i].epochs > epochs) epochs = r->runs[i].epochs;
    }
    const int lines = o->mean ? r->group_count : r->run_count;
    const size_t all = (size_t)panel_count * (size_t)lines;
    double *table = mem_alloc(context, 3 * all * (max_lines + 1) * sizeof *table), *at = table;
    curve *curves = mem_alloc(context, all * sizeof *curves), *c = curves;
    if (!table || !curves) {
        mem_free(context, table);
        mem_free(context, curves);
        return fail_memory(error, "%zu lines", all);
    }
    for (int p = 0; p < panel_count && !status; p++) {
        const quantity *q = chosen[p];
        has_loss |= q->of == loss;
        panels[p] = (curve_panel){.y_label = label_of(q, r, labels[p]),
                                  .curves = c,
                                  .count = lines,
                                  .is_log = q->is_log,
                                  .is_percent = q->is_score
                                                && !strcmp(r->runs[0].task->metrics[0].unit, "%")};
        for (int k = 0; k < lines && !status; k++) {
            points own = {.x = at, .y = at + max_lines, .spread = at + 2 * max_lines};
            if (o->mean)
                status = take_mean(r, k, q, &own, error);
            else
                take_run(&r->runs[k], q, &own);
            *c++ = (curve){.name = o->mean ? r->groups[k].label : r->runs[k].name,
                           .x = own.x,
                           .y = own.y,
                           .count = own.count,
                           .colour = colour_of_line(k),
                           .dots = q->epochs,
                           .dash = k / COLOUR_LINES,
                           .spread = own.spread,
                           .band = 1};
            at += 3 * max_lines;
        }
    }
    for (int p = 0; p < panel_count && !status; p++)
        if (!has_points(&panels[p]))
            status = fail(error, SSM2D_ERROR_ARGUMENT, "--show %s: none of the runs has %s",
                          chosen[p]->name, chosen[p]->needs ? chosen[p]->needs : "such lines yet");
    const curve_figure figure = {.title =
                                     r->run_count == 1 ? title_of(o, &r->runs[0], title) : NULL,
                                 .note = has_loss ? note_of(o, r, note) : NULL,
                                 .x_label = "epoch",
                                 .panels = panels,
                                 .count = panel_count,
                                 .x_high = (double)epochs,
                                 .columns = panel_count > 1 ? 2 : 1,
                                 .shared_legend = r->run_count > 1};
    if (!status) status = curves_draw(context, o->output, &figure, error);
    mem_free(context, table);
    mem_free(context, curves);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Refuses runs that a report would show, but that have nothing to draw. */
static ssm2d_status check_run(const report_run *run, ssm2d_error *error)
{
    if (run->known && run->metrics) return SSM2D_OK;
    if (*run->why.line) return fail(error, SSM2D_ERROR_ARGUMENT, "%s", run->why.line);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no metrics.jsonl yet: the run has not begun",
                text_path(run->folder));
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    char title[RUN_TITLE], note[LOSS_NOTE];
    report r;
    ssm2d_status status =
        report_open(context, (const char *const *)o->runs.words, o->runs.count, &r, error);
    for (int i = 0; i < r.run_count && !status; i++) status = check_run(&r.runs[i], error);
    if (!status && r.run_count == 1 && !o->show)
        status = metrics_draw(r.runs[0].metrics, o->output, title_of(o, &r.runs[0], title),
                              note_of(o, &r, note), r.runs[0].epochs,
                              error); /* as the run itself draws it */
    else if (!status)
        status = draw_together(context, o, &r, error);
    if (!status)
        written_print(o->output, "curves of %d run%s", r.run_count, r.run_count == 1 ? "" : "s");
    report_close(&r);
    return status;
}

const command command_curves = {
    "curves",
    "draw losses and metrics of runs over their epochs",
    "Draws the loss and the metric of a run over its epochs, in training and on the test images, "
    "from its metrics.jsonl. The run may still be training; it draws the same picture, curves.svg, "
    "after each epoch.\n"
    "For several runs, or with --show, each panel has one quantity, and a line for every run, or "
    "with --mean for every setup. If a run has validation images, they replace the test images.\n"
    "  ssm2d curves runs/* --mean --show test-score -o curves.pdf",
    options,
    check_values,
    run,
    0};
