/* ssm2d curves - draws how a run went: losses and accuracies over its epochs; or any quantities of
 * several runs, each in a panel with a line for every run, or for the mean of those that differ by
 * their seed alone. */
#include "core/context.h"
#include "core/status.h"
#include "data/dataset.h"
#include "draw/canvas.h"
#include "draw/curves.h"
#include "io/text.h"
#include "report/report_groups.h"
#include "tools/command.h"

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

static double percent(double share) { return 100 * share; }

static double loss(const metric *l) { return l->loss; }
static double accuracy(const metric *l) { return percent(l->accuracy); }
static double test_loss(const metric *l) { return l->test_loss; }
static double test_accuracy(const metric *l) { return percent(l->test_accuracy); }
static double learning_rate(const metric *l) { return l->lr; }
static double norm(const metric *l) { return l->norm; }
static double mixer_norm(const metric *l) { return l->blocks ? l->mixer_norms[0] : NAN; }
static double gain(const metric *l) { return l->blocks ? l->kernel_gains[0] : NAN; }

typedef struct quantity {
    const char *name, *label;
    double (*of)(const metric *line);
    int epochs; /* it is in the lines of epochs, not in those of steps */
    int is_log;
    /* of images that were not trained on: what it is called when these are validation images, in
     * all runs or in some; NULL: the label */
    const char *validation_label, *mixed_label;
    const char *needs; /* what a run without it lacks; NULL: time */
} quantity;

static const quantity quantities[] = {
    {"loss", "training loss", loss, 0, 0},
    {"accuracy", "training accuracy, %", accuracy, 1, 0},
    {"test-loss", "test loss", test_loss, 1, 0, "validation loss", "test or validation loss"},
    {"test-accuracy", "test accuracy, %", test_accuracy, 1, 0, "validation accuracy, %",
     "test or validation accuracy, %"},
    {"lr", "learning rate", learning_rate, 0, 0},
    {"norm", "norm of the gradient", norm, 0, 1},
    {"mixer-norm", "norm of the first mixer's gradient", mixer_norm, 0, 1, .needs = "a mixer"},
    {"gain", "gain of the first mixer's kernels", gain, 0, 1, .needs = "a mixer"},
    {0}};

static const char *label_of(const quantity *q, const report *r)
{
    int validation = 0, test = 0;
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].last) *(r->runs[i].last->validation ? &validation : &test) = 1;
    if (!validation || !q->validation_label) return q->label;
    return test ? q->mixed_label : q->validation_label;
}

/* Reads a list of names, separated by commas. */
static ssm2d_status choose(const char *names, const quantity *chosen[MAX_PANELS], int *count,
                           ssm2d_error *error)
{
    char shown[64];
    *count = 0;
    for (const char *at = names;; at++) {
        const size_t length = strcspn(at, ",");
        const quantity *q = quantities;
        while (q->name && (strlen(q->name) != length || strncmp(q->name, at, length))) q++;
        if (!q->name)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "--show %s: use some of loss, accuracy, test-loss, test-accuracy, lr, "
                        "norm, mixer-norm and gain, with commas between them",
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
     "the panels, one line for each run in them: some of loss, accuracy, test-loss, test-accuracy, "
     "lr, norm (of the gradient), mixer-norm and gain (of the first mixer), with commas between "
     "them; loss,test-accuracy for several runs when not given",
     .value = "NAMES"},
    {"mean", OPTION_FLAG, offsetof(values, mean),
     "one line for all runs that differ by their seed alone: their mean, in a band of one standard "
     "deviation (n - 1) to either side"},
    {"no-title", OPTION_FLAG, offsetof(values, no_title),
     "leave out the title, for a figure with a caption of its own"},
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
        out->y[out->count] = q->of(l);
        out->spread[out->count++] = NAN;
    }
}

/* Mean and deviation over the runs of a group that have got as far as `line`, which is one of
 * theirs. Returns 0 when they do not all have a line there. at[run] is where to look for it. */
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
        spread_add(&s, q->of(l));
    }
    out->x[out->count] = line->epoch;
    out->y[out->count] = s.mean;
    out->spread[out->count++] = s.deviation;
    return 1;
}

/* The run of a group with most lines, of those that count. */
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
    if (!at) return fail(error, SSM2D_ERROR_MEMORY, "no memory for %d runs", r->run_count);
    for (size_t i = 0; (l = metrics_line(first->metrics, i)); i++)
        if (l->is_epoch == q->epochs) missed |= !mean_at(r, group, q, l, at, out);
    mem_free(r->context, at);
    if (out->count || !missed) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "--mean: the runs of %s have no lines of %s at the same steps, since their "
                "log_every differ: leave out --mean, or %s",
                r->groups[group].label, q->name, q->name);
}

static const char *title_of(const values *o, const report_run *run, char title[256])
{
    char data[128];
    dataset_title(run->settings.options.data, data, sizeof data);
    snprintf(title, 256, "%s with mixer %s on %s", run->settings.model.model->name,
             run->settings.model.mixer.kind->name, data);
    return o->no_title ? NULL : title;
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
    char title[256];
    int panel_count;
    size_t max_lines = 0;
    long epochs = 1;
    ssm2d_status status =
        choose(o->show ? o->show : "loss,test-accuracy", chosen, &panel_count, error);
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
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu lines", all);
    }
    for (int p = 0; p < panel_count && !status; p++) {
        const quantity *q = chosen[p];
        panels[p] = (curve_panel){
            .y_label = label_of(q, r), .curves = c, .count = lines, .is_log = q->is_log};
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

/* A picture needs what a report can do without. */
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
    char title[256];
    report r;
    ssm2d_status status =
        report_open(context, (const char *const *)o->runs.words, o->runs.count, &r, error);
    for (int i = 0; i < r.run_count && !status; i++) status = check_run(&r.runs[i], error);
    if (!status && r.run_count == 1 && !o->show)
        status = metrics_draw(r.runs[0].metrics, o->output, title_of(o, &r.runs[0], title),
                              r.runs[0].epochs, error); /* as the run itself draws it */
    else if (!status)
        status = draw_together(context, o, &r, error);
    report_close(&r);
    return status;
}

const command command_curves = {
    "curves",
    "draw losses and accuracies of runs over their epochs",
    "Draws the loss and the accuracy of a run over its epochs, in training and on the test images, "
    "from its metrics.jsonl. The run may still be training; it draws the same picture itself, as "
    "curves.svg, after each epoch.\n"
    "Of several runs, or with --show, each panel has one quantity, and a line for every run, or "
    "with "
    "--mean for every setup. Test images are the validation images of a run that has some.\n"
    "  ssm2d curves runs/* --mean --show test-accuracy -o curves.pdf",
    options,
    check_values,
    run,
    0};
