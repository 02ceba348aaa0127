/* ssm2d report - one HTML page about runs. */
#include "core/clock.h"
#include "core/status.h"
#include "io/text.h"
#include "report/report.h"
#include "tools/bench/bench_model.h"
#include "tools/command.h"
#include "tools/progress.h"
#include "tools/written.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct values {
    word_list runs;
    const char *output;
    int no_data, no_measure;
} values;

static const option options[] = {
    {"RUN", OPTION_LIST, offsetof(values, runs),
     "folders of runs; those that differ only in their seed are grouped", .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "page to write: .html", .value = "FILE",
     .letter = 'o', .required = 1},
    {"no-data", OPTION_FLAG, offsetof(values, no_data),
     .help = "omit the sections that need the test images: confusion matrix, table of labels, "
             "wrong images and receptive fields"},
    {"no-measure", OPTION_FLAG, offsetof(values, no_measure),
     .help = "omit the time per operator, which is measured by this command"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (text_has_extension(o->output, ".html") || text_has_extension(o->output, ".htm"))
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name must end in .html or .htm",
                text_path(o->output));
}

/* ---- hooks ----------------------------------------------------------------------------------- */

typedef struct watch {
    progress progress;
    char what[160];
} watch;

static void show_progress(void *user, const char *what, const char *run, size_t done, size_t of)
{
    watch *w = user;
    char shown[80];
    snprintf(w->what, sizeof w->what, "ssm2d report: %s, %s:", what,
             text_show(run, strlen(run), shown, sizeof shown));
    w->progress.total = of;
    progress_show(&w->progress, done);
}

/* Runs the model for a second, as `ssm2d bench train --quick` does. */
static ssm2d_status measure(void *user, ssm2d_context *context, const model_config *config,
                            size_t batch, report_operator ops[REPORT_OPERATORS], int *count,
                            ssm2d_error *error)
{
    enum { MIN_RUNS = 3, MAX_RUNS = 1000 };
    bench_model *m = NULL;
    bench_op found[BENCH_OPS];
    (void)user;
    _Static_assert((int)REPORT_OPERATORS >= (int)BENCH_OPS, "every operator has its place");
    const ssm2d_status status =
        bench_model_create(context, config, batch, BENCH_TRAINING, &m, error);
    if (status) return status;
    const double start = clock_seconds();
    for (int i = 0; i < MAX_RUNS && (i < MIN_RUNS || clock_seconds() - start < 1); i++)
        bench_model_run(m);
    *count = bench_model_ops(m, found);
    for (int i = 0; i < *count; i++)
        ops[i] =
            (report_operator){found[i].name, found[i].nodes, found[i].forward, found[i].backward};
    bench_model_destroy(m);
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    watch w = {.what = "ssm2d report"};
    w.progress = progress_start(w.what, 1);
    const report_options how = {
        .no_data = o->no_data, .no_measure = o->no_measure, .hooks = {&w, show_progress, measure}};
    const ssm2d_status status = report_write(context, (const char *const *)o->runs.words,
                                             o->runs.count, o->output, &how, error);
    progress_end(&w.progress);
    if (!status)
        written_print(o->output, "report of %d run%s", o->runs.count,
                      o->runs.count == 1 ? "" : "s");
    return status;
}

static const char about[] =
    "Writes one HTML page about one or several runs, for any browser and without network: curves "
    "of all runs with values under the pointer; a table with mean and standard deviation over runs "
    "that differ only in their seed; confusion matrix, table of labels and the images with the "
    "highest loss, from an evaluation of each run on its test images; kernels and receptive "
    "fields; the time of each operator, measured by this command; all settings, with the "
    "differences between runs marked; and the environment.\n"
    "\n"
    "  ssm2d report runs/demo -o report.html\n"
    "  ssm2d report DIR/runs/* -o table1.html\n"
    "\n"
    "The second example is for the runs of ssm2d reproduce --out DIR. Runs may be unfinished, "
    "interrupted or failed, and are shown as such. Sections that are impossible, because the data "
    "are missing or there are no weights yet, are named in the page.";

const command command_report = {
    .name = "report",
    .summary = "one HTML page about one or several runs",
    .about = about,
    .options = options,
    .check = check_values,
    .run = run,
};
