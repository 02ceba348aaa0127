/* ssm2d reproduce - the tables and figures of the paper, each by one command. */
#include "core/context.h"
#include "core/processors.h"
#include "core/status.h"
#include "core/suggest.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"
#include "reproduce_estimate.h"
#include "reproduce_import.h"
#include "reproduce_options.h"
#include "reproduce_run.h"
#include "reproduce_settings.h"
#include "reproduce_table.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/stop_signals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef reproduce_values values;

#define RUN_PLACE(member) offsetof(values, member)
static const option options[] = {
    {"NAME", OPTION_STRING, offsetof(values, name), "table or figure; without it all are listed",
     .positional = 1, .optional = 1, .offers = experiment_name_at},
    {"out", OPTION_STRING, offsetof(values, out),
     "folder for runs, tables and pictures; several tables and several processes may share it",
     .value = "DIR", .letter = 'o'},
    {"scale", OPTION_CHOICE, offsetof(values, scale),
     "full: the paper's models, data, recipe and epochs; medium: its models, data and "
     "augmentation, "
     "30 epochs; small: hours on two cores; tiny: minutes (default: as before in DIR, for this "
     "table or others, else full)",
     .choice = experiment_scale_name},
    {"data", OPTION_LIST, offsetof(values, data),
     "location of data, such as cifar100=cifar100:FOLDER; may be repeated; stored in DIR",
     .value = "NAME=DATA"},
    {"results", OPTION_STRING, offsetof(values, results),
     "import the results of finished runs from a table that reproduce wrote elsewhere, such as "
     "other/table5.json",
     .value = "FILE"},
    {"variant", OPTION_CHOICE, offsetof(values, variant),
     "whose settings models and mixers have: the paper's, by its code, its text or its parameter "
     "counts, which disagree, or the defaults of this library (default: as before in DIR, else "
     "code at full and medium, library at small and tiny)",
     .choice = published_variant_name},
    {"rows", OPTION_STRING, offsetof(values, rows),
     "run only the row with this label, or else the rows whose label contains it or matches it as "
     "a shell pattern; ONE|TWO is both",
     .value = "PATTERN"},
    {"columns", OPTION_STRING, offsetof(values, columns),
     "the same for columns, by their label or by the name of their data, such as cifar100",
     .value = "PATTERN"},
#include "run_options.def"
    {0}};

_Static_assert(sizeof(values) <= COMMAND_VALUES, "COMMAND_VALUES is too small for the values");

enum { MAX_NAMES = 16, MAX_OUT = 1024 };

static ssm2d_status check_name(const char *name, ssm2d_error *error)
{
    const char *names[MAX_NAMES + 1] = {NULL};
    char shown[64];
    if (experiment_find(name)) return SSM2D_OK;
    for (int i = 0; i < MAX_NAMES && experiment_name_at(i); i++) names[i] = experiment_name_at(i);
    const char *near = closest_name(name, names);
    text_show(name, strlen(name), shown, sizeof shown);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "there is no %s; did you mean %s?", shown, near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "there is no %s: ssm2d reproduce lists all names",
                shown);
}

ssm2d_status reproduce_check(const values *o, ssm2d_error *error)
{
    /* the first given option, of those about runs and then of the others */
    const char *of_runs = o->scale                    ? "scale"
                          : o->rows                   ? "rows"
                          : o->columns                ? "columns"
                          : o->data.count             ? "data"
                          : o->results                ? "results"
                          : o->seeds != OPTION_UNSET  ? "seeds"
                          : o->epochs != OPTION_UNSET ? "epochs"
                          : !isnan(o->lr)             ? "lr"
                          : o->set.count              ? "set"
                          : o->variant                ? "variant"
                          : o->test_sizes             ? "test-sizes"
                          : o->no_wait                ? "no-wait"
                                                      : NULL;
    const char *other = of_runs          ? of_runs
                        : o->out         ? "out"
                        : o->dry_run     ? "dry-run"
                        : o->plan_only   ? "plan"
                        : o->tables_only ? "tables-only"
                                         : NULL;
    if (!o->name)
        return other ? fail(error, SSM2D_ERROR_ARGUMENT,
                            "--%s needs the name of a table or figure, such as table1", other)
                     : SSM2D_OK;
    ssm2d_status status = check_name(o->name, error);
    if (status) return status;
    if (!o->out)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--out is missing: give the folder for runs, tables and pictures");
    if (!*o->out || strlen(o->out) > MAX_OUT)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--out: %s",
                    *o->out ? "the name of the folder is too long" : "give a folder");
    const experiment *e = reproduce_experiment(o->name, o->out);
    if (of_runs && !experiment_trains(e))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--%s: %s, %s, trains nothing and has no runs%s",
                    of_runs, e->name, e->title,
                    strcmp(o->name, "figure3") ? ""
                                               : "; for the training set size use training-size");
    if (o->dry_run + o->plan_only + o->tables_only > 1)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--dry-run, --plan and --tables-only cannot be combined");
    if (o->no_wait && (o->dry_run || o->plan_only || o->tables_only))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--no-wait is for running, and --%s runs nothing",
                    o->dry_run     ? "dry-run"
                    : o->plan_only ? "plan"
                                   : "tables-only");
    if (o->results && (o->dry_run || o->plan_only))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--results imports results, and --%s only shows what would be run",
                    o->dry_run ? "dry-run" : "plan");
    if (o->results && e->picture == PICTURE_RECEPTIVE_FIELDS)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--results: %s needs the weights of its runs, which a table does not have",
                    o->name);
    for (int i = 0; i < o->set.count; i++)
        if (strcmp(o->set.words[i], "default")
            && (status = reproduce_set_check(o->set.words[i], error)))
            return status;
    int sizes[PLAN_SIZES], count;
    if (o->test_sizes && (status = reproduce_sizes_check(o->test_sizes, sizes, &count, error)))
        return status;
    return reproduce_data_check(&o->data, error);
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    return reproduce_check(v, error);
}

static void list_all(void)
{
    const experiment *e;
    for (int i = 0; (e = experiment_at(i)); i++) {
        printf("%-16s  %s", e->name, e->title);
        if (e->figure) printf(" (also: %s)", e->figure);
        printf("\n");
    }
    printf("\nBegin with ssm2d reproduce table5 --scale tiny --out DIR; --help says more.\n");
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writing {
    ssm2d_context *context;
    const plan *plan;
} writing;

/* Writes the tables; pictures that take long are drawn only at the end. */
static ssm2d_status write_tables(const writing *w, int at_end, ssm2d_error *error)
{
    typedef ssm2d_status writer(const table *t, const char *path, ssm2d_error *error);
    static const struct {
        const char *ending;
        writer *write;
    } files[] = {
        {"md", table_write_markdown}, {"csv", table_write_csv}, {"json", table_write_json}};
    const experiment *e = w->plan->options.experiment;
    char path[RUN_PATH];
    table t;
    ssm2d_status status = table_create(w->plan, &t, error);
    if (!status && (at_end || e->picture == PICTURE_CURVES))
        status = reproduce_draw(w->context, &t, error); /* first: the tables link to it */
    for (size_t i = 0; i < sizeof files / sizeof *files && !status; i++) {
        snprintf(path, sizeof path, "%s/%s.%s", w->plan->options.out, e->name, files[i].ending);
        status = files[i].write(&t, path, error);
    }
    table_destroy(&t);
    return status;
}

static ssm2d_status run_ended(void *user, ssm2d_error *error)
{
    return write_tables(user, 0, error);
}

/* Prints the table as it is in the file. */
static ssm2d_status show_table(const ssm2d_context *context, const plan *p, ssm2d_error *error)
{
    char path[RUN_PATH], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/%s.md", p->options.out, p->options.experiment->name);
    const ssm2d_status status = file_read_regular(context, path, 1 << 24, &text, &size, error);
    if (status) return status;
    printf("\n%s\nwritten: ", text);
    text_print(stdout, p->options.out);
    printf("/%s.md, .csv, .json%s\n", p->options.experiment->name,
           reproduce_is_drawn(p) ? ", and the picture as .png, .svg and .pdf" : "");
    mem_free(context, text);
    return SSM2D_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static void print_commands(const ssm2d_context *context, const plan *p)
{
    const int threads = ssm2d_context_threads(context);
    const int given = threads == processors_available() ? 0 : threads;
    for (int i = 0; i < p->choice_count; i++)
        if (p->choices[i].is_placeholder)
            printf("# data %s are not given; to get them: %s\n", p->choices[i].wanted,
                   p->choices[i].help);
    if (!experiment_trains(p->options.experiment)) {
        char path[RUN_PATH];
        snprintf(path, sizeof path, "%s/%s.png", p->options.out, p->options.experiment->name);
        printf("ssm2d %s -o ", p->options.experiment->picture == PICTURE_PATHS
                                   ? "theory paths"
                                   : "kernels --figure3");
        plan_print_word(stdout, path);
        printf("\n");
    }
    for (int i = 0; i < p->count; i++) {
        const run_state state = reproduce_state(context, &p->runs[i], NULL, NULL);
        if (state == RUN_DONE)
            printf("# done: %s\n", p->runs[i].name);
        else if (p->runs[i].data->is_placeholder)
            printf("# "); /* the data are missing */
        if (state != RUN_DONE) plan_print_command(stdout, &p->runs[i], state == RUN_PARTLY, given);
    }
}

static ssm2d_status show_plan(ssm2d_context *context, const plan *p, ssm2d_error *error)
{
    ssm2d_error failure;
    if (!p->count) return SSM2D_OK;
    run_estimate *estimates = mem_alloc(context, (size_t)p->count * sizeof *estimates);
    if (!estimates) return fail_memory(error, "%d runs", p->count);
    const ssm2d_status status = reproduce_estimate(context, p, estimates, &failure, error);
    if (!status && !stop_requested(NULL)) {
        reproduce_print_plan(p, estimates);
        fflush(stdout);
        if (*failure.line)
            fprintf(stderr, "ssm2d reproduce: a run could not be measured: %s\n", failure.line);
    }
    mem_free(context, estimates);
    return status;
}

static ssm2d_status run_all(ssm2d_context *context, const values *o, const plan *p,
                            ssm2d_error *error)
{
    writing w = {context, p};
    const reproduce_job job = {context, p, o->no_wait, run_ended, &w};
    reproduce_outcome out;
    ssm2d_status status = reproduce_run_all(&job, &out, error);
    if (!status) status = write_tables(&w, !out.stopped, error);
    if (!status && !out.stopped) status = show_table(context, p, error);
    if (status) return status;
    if (out.stopped)
        return stop_signals_end(
            error, "stopped by a signal; everything is saved: the same command continues");
    if (out.failed)
        return fail(
            error, SSM2D_ERROR_SYSTEM,
            "%d run%s failed; the same command tries again, and restarts a run whose folder "
            "was removed. The first: %.300s",
            out.failed, out.failed == 1 ? "" : "s", out.first_failure.line);
    if (out.elsewhere)
        printf("%d run%s of other processes %s not finished; --tables-only writes the tables "
               "later\n",
               out.elsewhere, out.elsewhere == 1 ? "" : "s", out.elsewhere == 1 ? "is" : "are");
    return SSM2D_OK;
}

/* Warns of results that cannot be read, and so are missing in the tables. */
static void warn_of_damage(const ssm2d_context *context, const plan *p)
{
    ssm2d_error damaged;
    for (int i = 0; i < p->all; i++) {
        reproduce_state(context, &p->runs[i], NULL, &damaged);
        if (*damaged.line)
            fprintf(stderr, "ssm2d reproduce: %s; a call without --tables-only recreates it\n",
                    damaged.line);
    }
}

/* Refuses to train without the data; finished runs do not need them. */
static ssm2d_status check_data(const ssm2d_context *context, const plan *p, ssm2d_error *error)
{
    for (int i = 0; i < p->count; i++) {
        const char *gone = p->runs[i].data->gone.line;
        if (*gone && reproduce_state(context, &p->runs[i], NULL, NULL) != RUN_DONE)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%.300s; --tables-only writes the tables without these data", gone);
    }
    return SSM2D_OK;
}

/* Refuses a folder with files that have the names of our files but are not ours. Ours are beside
 * their options, or were written by --tables-only and name their experiment. */
static ssm2d_status check_files(const ssm2d_context *context, const char *out, const experiment *e,
                                ssm2d_error *error)
{
    static const char *const endings[] = {"options.json", "md", "csv", "json", "png", "svg", "pdf"};
    char path[RUN_PATH];
    const char *name = NULL;
    cJSON *root = NULL;
    int found = 0, ours = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !found; i++) {
        snprintf(path, sizeof path, "%s/%s.%s", out, e->name, endings[i]);
        found = !access(path, F_OK);
        if (found && i == 0) return SSM2D_OK;
    }
    if (!found) return SSM2D_OK;
    char json[RUN_PATH];
    snprintf(json, sizeof json, "%s/%s.json", out, e->name);
    if (!access(json, F_OK) && !json_read_regular(context, json, &root, NULL)) {
        name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "experiment"));
        ours = name && !strcmp(name, e->name);
    }
    cJSON_Delete(root);
    if (ours) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: exists, and was not written by ssm2d reproduce: give another --out",
                text_path(path));
}

/* Runs the experiment once the options are known. */
static ssm2d_status run_experiment(ssm2d_context *context, const values *o,
                                   const reproduce_options *all, const plan *p, ssm2d_error *error)
{
    char path[RUN_PATH];
    if (o->dry_run) {
        print_commands(context, p);
        return SSM2D_OK;
    }
    ssm2d_status status = check_files(context, o->out, p->options.experiment, error);
    if (!status) status = reproduce_settings_check_begun(context, p, error);
    if (!status && !o->tables_only) status = check_data(context, p, error);
    if (status) return status;
    snprintf(path, sizeof path, "%s/runs", o->out);
    status = folder_make(path, error);
    /* calls that only show something do not change the options of later calls */
    if (!status && (o->results || (!o->tables_only && !o->plan_only)))
        status = reproduce_options_write(context, all, p, error);
    if (status) return status;
    if (o->plan_only || (!o->tables_only && p->count)) { /* else the table prints the notes */
        printf("%s\n\n", p->options.experiment->title);
        table_print_notes(stdout, p);
        fflush(stdout);
    }
    if (o->results) {
        import_counts counts;
        status = reproduce_import(context, p, o->results, &counts, error);
        if (status) return status;
        if (!counts.taken && !counts.here && counts.others)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "--results %s: none of its %d results belongs to a run planned here; data, "
                        "scale or epochs differ: leave it out",
                        text_path(o->results), counts.others);
        printf("%d result%s imported from ", counts.taken, counts.taken == 1 ? "" : "s");
        text_print(stdout, o->results);
        if (counts.here)
            printf("; %d more exist%s here already", counts.here, counts.here == 1 ? "s" : "");
        if (counts.others)
            printf("; %d belong%s to runs that are not planned here: data, scale or epochs differ",
                   counts.others, counts.others == 1 ? "s" : "");
        printf("\n\n");
    }
    if (o->plan_only && !p->count) {
        printf("there is nothing to train\n");
        return SSM2D_OK;
    }
    if (o->tables_only || !p->count) {
        const writing w = {context, p};
        warn_of_damage(context, p);
        status = write_tables(&w, 1, error);
        return status ? status : show_table(context, p, error);
    }
    stop_signals_catch();
    status = show_plan(context, p, error);
    if (!status && stop_requested(NULL))
        return stop_signals_end(error, "stopped by a signal; no run has begun");
    return status || o->plan_only ? status : run_all(context, o, p, error);
}

ssm2d_status reproduce_run(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    reproduce_options all;
    plan p = {0};
    if (!o->name) {
        list_all();
        return SSM2D_OK;
    }
    ssm2d_status status = reproduce_options_read(context, o, &all, error);
    if (!status && all.plan.experiment != experiment_find(o->name))
        fprintf(stderr, "ssm2d reproduce: %s of an earlier version is %s now\n", o->name,
                all.plan.experiment->name);
    if (!status) status = plan_create(context, &all.plan, &p, error);
    if (!status) status = run_experiment(context, o, &all, &p, error);
    plan_destroy(&p);
    reproduce_options_destroy(context, &all);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    return reproduce_run(context, v, error);
}

static const char about[] =
    "Reproduces a table or figure of the paper: plans its runs, prints how long they will take, "
    "trains them, and writes DIR/NAME.md, .csv and .json with mean, standard deviation and number "
    "of seeds beside the paper's values, and the pictures.\n"
    "\n"
    "  ssm2d reproduce table5 --scale tiny --out runs/tiny\n"
    "  ssm2d reproduce table1 --data cifar100=cifar100:FOLDER --out runs/paper\n"
    "\n"
    "Ctrl-C saves and stops; the same command continues, and every run ends with the same bits as "
    "without the interruption. The tables are written after every run. Runs are in DIR/runs, under "
    "names that describe them, so that tables in one DIR share runs; ssm2d eval, predict and "
    "kernels accept them. A run that fails is recorded with its message and tried again the next "
    "time.\n"
    "\n"
    "Several processes, or the ranks of an MPI job, may use the same DIR, on one machine or "
    "several "
    "that share it: each takes runs that no other has claimed (by a lock in DIR/claims), and waits "
    "for the last ones.\n"
    "\n"
    "figure2, figure3 and figure4 are numbers as LaTeX counts them. The paper captions the kernels "
    "and the training set size both as Figure 3; earlier versions of ssm2d called them figure2 and "
    "figure3, and in their folders these names keep that meaning.\n"
    "\n"
    "Columns without data are omitted. The scales small and tiny replace missing data, and the "
    "tables say so: by CIFAR-10 or CIFAR-100 (ImageNet first by Tiny-ImageNet), and at tiny by "
    "Fashion-MNIST if it is installed.";

static void more_help(const help_page *page)
{
    const char *name, *help;
    help_heading(page, "tables and figures");
    for (int i = 0; experiment_at(i); i++) {
        const experiment *e = experiment_at(i);
        char names[64];
        snprintf(names, sizeof names, "%s%s%s", e->name, e->figure ? ", " : "",
                 e->figure ? e->figure : "");
        help_entry(page, names, e->title);
    }
    help_heading(page, "names for --data, and how to get them");
    for (int i = 0; (name = reproduce_data_at(i, &help)); i++) help_entry(page, name, help);
}

const command command_reproduce = {.name = "reproduce",
                                   .summary = "reproduce a table or figure of the paper",
                                   .about = about,
                                   .options = options,
                                   .check = check_values,
                                   .run = run,
                                   .more_help = more_help,
                                   .several = SEVERAL_APART};
