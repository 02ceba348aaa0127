/* ssm2d curves - draws how a run went: losses and accuracies over its epochs; or any quantities of
 * several runs, each in a panel with a line for every run. */
#include "command.h"
#include "core/context.h"
#include "core/status.h"
#include "draw/canvas.h"
#include "draw/curves.h"
#include "io/short_names.h"
#include "io/text.h"
#include "train/metrics.h"
#include "train/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PANELS = 8, MAX_RUNS = 64 };

typedef struct values {
    word_list runs;
    const char *output, *show;
    int no_title;
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
} quantity;

static const quantity quantities[] = {
    {"loss", "training loss", loss, 0, 0},
    {"accuracy", "training accuracy, %", accuracy, 1, 0},
    {"test-loss", "test loss", test_loss, 1, 0},
    {"test-accuracy", "test accuracy, %", test_accuracy, 1, 0},
    {"lr", "learning rate", learning_rate, 0, 0},
    {"norm", "norm of the gradient", norm, 0, 1},
    {"mixer-norm", "norm of the first mixer's gradient", mixer_norm, 0, 1},
    {"gain", "gain of the first mixer's kernels", gain, 0, 1},
    {0}};

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
    if (!status && o->runs.count > MAX_RUNS)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%d runs: a picture has at most %d",
                      o->runs.count, MAX_RUNS);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct drawn_run {
    const char *name;
    metrics *metrics;
    long epochs;
    char title[256];
} drawn_run;

static ssm2d_status open_run(const ssm2d_context *context, const char *folder, drawn_run *r,
                             ssm2d_error *error)
{
    char settings_path[RUN_PATH], path[RUN_PATH];
    train_settings s;
    ssm2d_status status = run_path(folder, RUN_TRAIN, settings_path, error);
    if (!status) status = run_path(folder, RUN_METRICS, path, error);
    if (!status) status = train_settings_default(&s, error);
    if (!status) status = train_settings_read(context, settings_path, &s, error);
    if (!status) status = metrics_read(context, path, &r->metrics, error);
    if (status) return status;
    const char *slash = strrchr(s.options.data, '/');
    r->epochs = train_epochs(&s.options);
    snprintf(r->title, sizeof r->title, "%s with mixer %s on %.120s", s.model.model->name,
             s.model.mixer.kind->name, slash && slash[1] ? slash + 1 : s.options.data);
    return SSM2D_OK;
}

/* Writes x and y of a quantity to a table of 2 x `lines` numbers; returns how many there are. */
static int take(const metrics *m, const quantity *q, double *x, double *y)
{
    int count = 0;
    const metric *l;
    for (size_t i = 0; (l = metrics_line(m, i)); i++) {
        if (l->is_epoch != q->epochs) continue;
        x[count] = l->epoch;
        y[count++] = q->of(l);
    }
    return count;
}

static ssm2d_status draw_together(const ssm2d_context *context, const values *o,
                                  const drawn_run *runs, ssm2d_error *error)
{
    const quantity *chosen[MAX_PANELS];
    curve_panel panels[MAX_PANELS];
    int count, panel_count;
    size_t lines = 0;
    long epochs = 1;
    ssm2d_status status =
        choose(o->show ? o->show : "loss,test-accuracy", chosen, &panel_count, error);
    if (status) return status;
    for (int r = 0; r < o->runs.count; r++) {
        size_t own = 0;
        while (metrics_line(runs[r].metrics, own)) own++;
        lines += own;
        if (runs[r].epochs > epochs) epochs = runs[r].epochs;
    }
    const size_t all = (size_t)panel_count * (size_t)o->runs.count;
    double *table = mem_alloc(context, (size_t)panel_count * 2 * (lines + 1) * sizeof *table),
           *at = table;
    curve *curves = mem_alloc(context, all * sizeof *curves), *c = curves;
    if (!table || !curves) {
        mem_free(context, table);
        mem_free(context, curves);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu lines", all);
    }
    for (int p = 0; p < panel_count; p++) {
        const quantity *q = chosen[p];
        panels[p] = (curve_panel){.y_label = q->label, .curves = c, .is_log = q->is_log};
        for (int r = 0; r < o->runs.count; r++) {
            size_t own = 0;
            while (metrics_line(runs[r].metrics, own)) own++;
            count = take(runs[r].metrics, q, at, at + own);
            *c++ = (curve){.name = runs[r].name,
                           .x = at,
                           .y = at + own,
                           .count = count,
                           .colour = colour_of_line(r),
                           .dots = q->epochs,
                           .dash = r / COLOUR_LINES};
            at += 2 * own;
            panels[p].count++;
        }
    }
    const curve_figure figure = {.title = o->runs.count == 1 && !o->no_title ? runs[0].title : NULL,
                                 .x_label = "epoch",
                                 .panels = panels,
                                 .count = panel_count,
                                 .x_high = (double)epochs,
                                 .columns = panel_count > 1 ? 2 : 1,
                                 .shared_legend = o->runs.count > 1};
    status = curves_draw(context, o->output, &figure, error);
    mem_free(context, table);
    mem_free(context, curves);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    drawn_run runs[MAX_RUNS] = {0};
    const char *folders[MAX_RUNS];
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < o->runs.count && !status; i++) {
        char *folder = o->runs.words[i];
        for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/';) folder[--n] = 0;
        folders[i] = folder;
        status = open_run(context, folder, &runs[i], error);
    }
    char **names = status ? NULL : short_names_make(context, folders, o->runs.count);
    if (!status && !names) status = fail(error, SSM2D_ERROR_MEMORY, "no memory for names");
    for (int i = 0; i < o->runs.count && !status; i++) runs[i].name = names[i];
    if (!status && o->runs.count == 1 && !o->show)
        status = metrics_draw(runs[0].metrics, o->output, o->no_title ? NULL : runs[0].title,
                              runs[0].epochs, error);
    else if (!status)
        status = draw_together(context, o, runs, error);
    for (int i = 0; i < o->runs.count; i++) metrics_close(runs[i].metrics);
    mem_free(context, names);
    return status;
}

const command command_curves = {
    "curves",
    "draw losses and accuracies of runs over their epochs",
    "Draws the loss and the accuracy of a run over its epochs, in training and on the test images, "
    "from its metrics.jsonl. The run may still be training; it draws the same picture itself, as "
    "curves.svg, after each epoch.\n"
    "Of several runs, or with --show, each panel has one quantity, and a line for every run. Test "
    "images are the validation images of a run that has some.",
    options,
    check_values,
    run,
    0};
