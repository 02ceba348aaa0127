#include "reproduce_table.h"

#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- summaries ------------------------------------------------------------------------------- */

/* Sums of values, for mean and standard deviation. */
typedef struct sums {
    int n;
    double sum, squares; /* of differences from the first value, which keeps digits */
    double first;
} sums;

static void sums_add(sums *s, double x)
{
    if (isnan(x)) return;
    if (!s->n++) s->first = x;
    s->sum += x - s->first;
    s->squares += (x - s->first) * (x - s->first);
}

static double sums_mean(const sums *s) { return s->n ? s->first + s->sum / s->n : NAN; }

static double sums_std(const sums *s)
{
    if (s->n < 2) return NAN;
    return sqrt(fmax(0, (s->squares - s->sum * s->sum / s->n) / (s->n - 1)));
}

static void sum_up_cell(const table *t, int row, int column, cell_summary *cell)
{
    const plan *p = t->plan;
    const int top5 = p->form->columns[column].measure == MEASURE_TOP5;
    sums value = {0}, best = {0}, speed = {0};
    *cell = (cell_summary){0};
    for (int seed = 0; seed < (int)p->options.seeds; seed++) {
        const planned_run *run = plan_cell(p, seed, row, column);
        if (!run) continue;
        const run_result *r = &t->results[run - p->runs];
        cell->failed += t->states[run - p->runs] == RUN_FAILED;
        if (t->states[run - p->runs] != RUN_DONE) continue;
        sums_add(&value, 100 * (top5 ? r->top5 : r->accuracy));
        sums_add(&best, top5 ? NAN : 100 * r->best);
        sums_add(&speed, r->images_per_s);
        if (!(cell->parameters > 0)) cell->parameters = r->parameters;
    }
    cell->n = value.n;
    cell->mean = sums_mean(&value);
    cell->std = sums_std(&value);
    cell->best = sums_mean(&best);
    cell->best_std = sums_std(&best);
    cell->images_per_s = sums_mean(&speed);
}

/* Over the columns that both rows have. */
static double time_ratio(const row_summary *plain, const row_summary *row, int columns)
{
    sums ratio = {0};
    for (int c = 0; c < columns; c++)
        sums_add(&ratio, plain->cells[c].images_per_s / row->cells[c].images_per_s);
    return sums_mean(&ratio);
}

static double mean_delta(const row_summary *row, int columns)
{
    sums delta = {0};
    for (int c = 0; c + 1 < columns; c += 2)
        sums_add(&delta, row->cells[c + 1].mean - row->cells[c].mean);
    return sums_mean(&delta);
}

static void sum_up(table *t)
{
    const plan *p = t->plan;
    const row_summary *plain = NULL;
    for (int r = 0; r < p->rows; r++) {
        row_summary *row = &t->rows[r];
        *row = (row_summary){.time = NAN, .delta = NAN};
        for (int c = 0; c < p->columns; c++) {
            sum_up_cell(t, r, c, &row->cells[c]);
            if (!(row->parameters > 0)) row->parameters = row->cells[c].parameters;
        }
        if (p->form->rows[r].plain) plain = row;
        if (plain) row->time = time_ratio(plain, row, p->columns);
        if (p->options.experiment->pairs) row->delta = mean_delta(row, p->columns);
    }
}

ssm2d_status table_create(const plan *p, table *t, ssm2d_error *error)
{
    *t = (table){.plan = p};
    const size_t count = p->count ? (size_t)p->count : 1;
    t->states = mem_alloc(p->context, count * sizeof *t->states);
    t->results = mem_alloc(p->context, count * sizeof *t->results);
    if (!t->states || !t->results) return fail(error, SSM2D_ERROR_MEMORY, "no memory for results");
    for (int i = 0; i < p->count; i++) {
        t->states[i] = reproduce_state(p->context, &p->runs[i], &t->results[i], NULL);
        t->done += t->states[i] == RUN_DONE;
        t->failed += t->states[i] == RUN_FAILED;
    }
    sum_up(t);
    return SSM2D_OK;
}

void table_destroy(table *t)
{
    if (!t->plan) return;
    mem_free(t->plan->context, t->states);
    mem_free(t->plan->context, t->results);
    *t = (table){0};
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Whether the data that were found are the wanted ones, and whole. */
static int has_paper_data(const plan *p)
{
    for (int i = 0; i < p->choice_count; i++)
        if (p->choices[i].name && p->choices[i].facts.images != p->choices[i].published) return 0;
    return 1;
}

void table_print_notes(FILE *out, const plan *p)
{
    const experiment *e = p->options.experiment;
    if (p->form->differs)
        fprintf(out, "Scale %s%s: %s.\n\n", experiment_scale_name((int)p->options.scale),
                e->ours ? "" : ", smaller than in the paper", p->form->differs);
    else if (p->rows)
        fprintf(out,
                has_paper_data(p) && !p->options.epochs
                    ? "Scale full, the paper's setting: models, data, recipe and epochs.\n\n"
                    : "Scale full: the paper's models and recipe, but other data or epochs, as "
                      "said below.\n\n");
    if (p->options.epochs)
        fprintf(out, "All runs have %ld epoch%s, as --epochs says, not those of the scale.\n\n",
                p->options.epochs, p->options.epochs == 1 ? "" : "s");
    if (p->options.rows) {
        fprintf(out, "Only the rows that match ");
        text_print(out, p->options.rows);
        fprintf(out, ".\n\n");
    }
    for (int i = 0; i < p->choice_count; i++) {
        const data_choice *d = &p->choices[i];
        if (!d->name) {
            fprintf(out,
                    "Data %s are not given, and their cells are left out. To get them: %s.\n\n",
                    d->wanted, d->help);
            continue;
        }
        fprintf(out, "Data %s: ", d->wanted);
        text_print(out, d->spec);
        fprintf(out, ", %zu training images of %d classes", d->facts.images, d->facts.classes);
        if (strcmp(d->name, d->wanted))
            fprintf(out, "; these are %s, which stand in for %s", d->name, d->wanted);
        else if (d->facts.images != d->published)
            fprintf(out, "; the published data have %zu", d->published);
        fprintf(out, ".\n\n");
    }
    if (p->form->note) fprintf(out, "%s\n\n", p->form->note);
    if (e->note) fprintf(out, "%s\n\n", e->note);
}

static void print_failures(FILE *out, const table *t)
{
    char message[1024];
    for (int i = 0; i < t->plan->count; i++)
        if (t->states[i] == RUN_FAILED
            && reproduce_failure(t->plan->context, &t->plan->runs[i], message, sizeof message))
            fprintf(out, "Run %s failed: %s\n\n", t->plan->runs[i].name, message);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void print_mean(FILE *out, double mean, double std, int n, int failed)
{
    if (!n)
        fprintf(out, " %s |", failed ? "failed" : "-");
    else if (n == 1)
        fprintf(out, " %.2f (n = 1) |", mean);
    else
        fprintf(out, " %.2f ± %.2f (n = %d) |", mean, std, n);
}

static const char *or_none(const char *text) { return text ? text : "-"; }

static void print_head(FILE *out, const plan *p)
{
    const experiment *e = p->options.experiment;
    int width = 1;
    fprintf(out, "| model |");
    for (int c = 0; c < p->columns; c++) {
        const int has_best = p->form->columns[c].measure == MEASURE_ACCURACY;
        fprintf(out, " %s |%s paper |", p->form->columns[c].label, has_best ? " best epoch |" : "");
        width += 2 + has_best;
    }
    if (e->pairs) fprintf(out, " delta | paper |");
    if (e->times) fprintf(out, " train time | paper |");
    if (e->parameters) fprintf(out, " parameters | paper |");
    width += 2 * (e->pairs + e->times + e->parameters);
    fprintf(out, "\n|");
    for (int i = 0; i < width; i++) fprintf(out, "---|");
    fprintf(out, "\n");
}

static void print_row(FILE *out, const table *t, int r)
{
    const plan *p = t->plan;
    const experiment *e = p->options.experiment;
    const experiment_row *about = &p->form->rows[r];
    const row_summary *row = &t->rows[r];
    fprintf(out, "| %s |", about->label);
    for (int c = 0; c < p->columns; c++) {
        const cell_summary *cell = &row->cells[c];
        print_mean(out, cell->mean, cell->std, cell->n, cell->failed);
        if (p->form->columns[c].measure == MEASURE_ACCURACY) {
            if (cell->n)
                fprintf(out, " %.2f |", cell->best);
            else
                fprintf(out, " - |");
        }
        fprintf(out, " %s |", or_none(about->paper[c]));
    }
    if (e->pairs && isnan(row->delta)) fprintf(out, " - | %s |", or_none(about->paper_delta));
    if (e->pairs && !isnan(row->delta))
        fprintf(out, " %+.2f | %s |", row->delta, or_none(about->paper_delta));
    if (e->times && isnan(row->time)) fprintf(out, " - | %s |", or_none(about->paper_time));
    if (e->times && !isnan(row->time))
        fprintf(out, " %.2fx | %s |", row->time, or_none(about->paper_time));
    if (e->parameters && !(row->parameters > 0))
        fprintf(out, " - | %s |", or_none(about->paper_parameters));
    if (e->parameters && row->parameters > 0)
        fprintf(out, " %.3fM | %s |", row->parameters / 1e6, or_none(about->paper_parameters));
    fprintf(out, "\n");
}

static void print_explanation(FILE *out, const table *t)
{
    const experiment *e = t->plan->options.experiment;
    fprintf(out, "\nAccuracies on test images in percent, after the last epoch: mean ± standard "
                 "deviation over seeds; then the mean of the best epochs.");
    for (int i = 0; i < t->plan->count; i++)
        if (t->states[i] == RUN_DONE && t->results[i].choice == CHOICE_TEST) {
            fprintf(out, " The best epoch is chosen by the test images, so that it is a little too "
                         "good.");
            break;
        }
    if (e->times)
        fprintf(out, " Train time is that of an image, relative to the plain model above, by the "
                     "medians of images/s; it means little when the machine has other work.");
    fprintf(out, "\n\n%d of %d runs are done", t->done, t->plan->count);
    if (t->failed) fprintf(out, ", %d failed", t->failed);
    fprintf(out, ".\n");
}

ssm2d_status table_write_markdown(const table *t, const char *path, ssm2d_error *error)
{
    const plan *p = t->plan;
    const experiment *e = p->options.experiment;
    atomic_file file;
    const ssm2d_status status = atomic_open(p->context, path, &file, error);
    if (status) return status;
    fprintf(file.stream, "# %s\n\n", e->title);
    table_print_notes(file.stream, p);
    if (p->rows) {
        print_head(file.stream, p);
        for (int r = 0; r < p->rows; r++)
            if (p->chosen[r]) print_row(file.stream, t, r);
        print_explanation(file.stream, t);
        if (t->failed) fprintf(file.stream, "\n");
        print_failures(file.stream, t);
    }
    if (e->picture) fprintf(file.stream, "\n![%s](%s.png)\n", e->title, e->name);
    return atomic_commit(&file, error);
}
