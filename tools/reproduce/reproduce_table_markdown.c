/* The results of an experiment as Markdown, with the differences from the paper. */
#include "io/file.h"
#include "io/text.h"
#include "reproduce_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- notes ----------------------------------------------------------------------------------- */

/* Whether the data that were found are complete and those of the paper. */
static int has_paper_data(const plan *p)
{
    for (int i = 0; i < p->choice_count; i++)
        if (p->choices[i].name && p->choices[i].published
            && p->choices[i].facts.images != p->choices[i].published)
            return 0;
    return 1;
}

static int is_changed(const plan *p)
{
    return p->options.epochs || p->options.lr > 0 || p->options.sets.count
           || (p->form->published && p->options.variant == VARIANT_LIBRARY);
}

/* which: rows or columns */
static void print_selection(FILE *out, const char *which, const char *pattern)
{
    if (!pattern) return;
    fprintf(out, "Only the %s that match `", which);
    text_print(out, pattern);
    fprintf(out, "` are run; others are shown if they have results.\n\n");
}

void table_print_notes(FILE *out, const plan *p)
{
    const experiment *e = p->options.experiment;
    if (p->form->differs)
        fprintf(out, "Scale %s%s: %s.\n\n", experiment_scale_name((int)p->options.scale),
                e->ours ? "" : ", smaller than in the paper", p->form->differs);
    else if (p->rows)
        fprintf(
            out,
            has_paper_data(p) && !is_changed(p)
                ? "Scale full, the paper's setting: models, data, recipe and epochs, except "
                  "for the notes below.\n\n"
                : "Scale full: the paper's models and recipe, but other data, epochs or settings; "
                  "see below.\n\n");
    if (p->options.epochs)
        fprintf(out, "All runs have %ld epoch%s (--epochs), not those of the scale.\n\n",
                p->options.epochs, p->options.epochs == 1 ? "" : "s");
    if (p->options.lr > 0)
        fprintf(out, "All runs have the learning rate %.10g (--lr).\n\n", p->options.lr);
    if (p->options.sets.count) {
        fprintf(out, "Runs that have these settings have them by --set:");
        for (int i = 0; i < p->options.sets.count; i++) {
            fprintf(out, "%s `", i ? "," : "");
            text_print(out, p->options.sets.words[i]);
            fprintf(out, "`");
        }
        fprintf(out, ".\n\n");
    }
    if (experiment_has_variants(e)) {
        char note[PUBLISHED_NOTE];
        published_variant_note(p->options.variant, p->form->published, note);
        fprintf(out, "%s\n\n", note);
    }
    print_selection(out, "rows", p->options.rows);
    print_selection(out, "columns", p->options.columns);
    for (int i = 0; i < p->choice_count; i++) {
        const data_choice *d = &p->choices[i];
        if (!d->name && !d->is_chosen) continue;
        if (!d->name) {
            fprintf(out,
                    "Data %s are not given, and their cells are left out. To get them: %s.\n\n",
                    d->wanted, d->help);
            continue;
        }
        fprintf(out, "Data %s: ", d->wanted);
        text_print(out, d->spec);
        fprintf(out, ", %zu training images of %d classes", d->facts.images, d->facts.labels);
        if (d->stand_in)
            fprintf(out, "; these are %s, which stand in for %s%s%s", d->stand_in, d->wanted,
                    d->labels ? ": " : "", d->labels ? d->labels : "");
        else if (d->published && d->facts.images != d->published)
            fprintf(out, "; the published data have %zu", d->published);
        fprintf(out, ".\n\n");
    }
    if (p->form->note) fprintf(out, "%s\n\n", p->form->note);
    if (e->note) fprintf(out, "%s\n\n", e->note);
    if (e->times_note && table_has_times(p)) fprintf(out, "%s\n\n", e->times_note);
}

static void print_failures(FILE *out, const table *t)
{
    char message[1024];
    for (int i = 0; i < t->plan->all; i++)
        if (t->states[i] == RUN_FAILED
            && reproduce_failure(t->plan->context, &t->plan->runs[i], message, sizeof message))
            fprintf(out, "Run %s failed: %s\n\n", t->plan->runs[i].name, message);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

enum { MAX_LISTED = 5 }; /* seeds whose values are listed; tables of more have their number */

/* The value of every seed, with a dash for those without a result. */
static void print_seeds(FILE *out, const table *t, int row, int column)
{
    for (int seed = 0; seed < (int)t->plan->options.seeds; seed++) {
        const double value = table_value(t, seed, row, column);
        fputs(seed ? ", " : "", out);
        if (isnan(value))
            fputs("-", out);
        else
            fprintf(out, "%.2f", value);
    }
}

static void print_mean(FILE *out, const table *t, int row, int column)
{
    const cell_summary *cell = &t->rows[row].cells[column];
    if (!cell->n) {
        fprintf(out, " %s |", cell->failed ? "failed" : "-");
        return;
    }
    fprintf(out, " %.2f ", cell->mean);
    if (cell->n > 1) fprintf(out, "± %.2f ", cell->std);
    if (cell->n > 1 && t->plan->options.seeds <= MAX_LISTED) {
        fputs("(", out);
        print_seeds(out, t, row, column);
        fputs(") |", out);
    } else
        fprintf(out, "(n = %d) |", cell->n);
}

/* Which values the paper has for the shown rows; columns without any are omitted. */
typedef struct paper_columns {
    int cells[EXPERIMENT_COLUMNS], delta, time, parameters;
} paper_columns;

static paper_columns paper_of(const table *t)
{
    const plan *p = t->plan;
    paper_columns has = {0};
    for (int r = 0; r < p->rows; r++) {
        const experiment_row *row = &p->form->rows[r];
        if (!t->rows[r].is_shown) continue;
        for (int c = 0; c < p->columns; c++)
            has.cells[c] |= t->is_shown[c] && row->paper[c] != NULL;
        has.delta |= row->paper_delta != NULL;
        has.time |= row->paper_time != NULL;
        has.parameters |= row->paper_parameters != NULL;
    }
    return has;
}

/* A column's heading, and one for the paper's numbers beside it; returns how many there are. */
static int print_heading(FILE *out, const char *text, int paper)
{
    fprintf(out, " %s |%s", text, paper ? " paper |" : "");
    return 1 + paper;
}

static void print_paper(FILE *out, int paper, const char *text)
{
    if (paper) fprintf(out, " %s |", text ? text : "-");
}

static void print_rule(FILE *out, int width)
{
    fprintf(out, "\n|");
    for (int i = 0; i < width; i++) fprintf(out, "---|");
    fprintf(out, "\n");
}

static void print_head(FILE *out, const table *t, const paper_columns *paper)
{
    const plan *p = t->plan;
    const experiment *e = p->options.experiment;
    char label[TABLE_LABEL];
    int width = 1;
    fprintf(out, "| model |");
    for (int c = 0; c < p->columns; c++) {
        const int has_best = p->form->columns[c].measure == MEASURE_ACCURACY;
        if (!t->is_shown[c]) continue;
        width += print_heading(out, table_column_label(p, c, label), 0);
        if (has_best) width += print_heading(out, "best epoch", 0);
        if (paper->cells[c]) width += print_heading(out, "paper", 0);
    }
    if (e->deltas) width += print_heading(out, "delta", paper->delta);
    if (table_has_times(p)) width += print_heading(out, "train time", paper->time);
    if (e->parameters) width += print_heading(out, "parameters", paper->parameters);
    if (e->memory) width += print_heading(out, "memory of a step", 0);
    print_rule(out, width);
}

/* A number with its unit, or a dash for one that is not known. */
static void print_number(FILE *out, double x, int digits, const char *unit)
{
    if (isnan(x))
        fprintf(out, " - |");
    else
        fprintf(out, " %.*f%s |", digits, x, unit);
}

/* With its sign. */
static void print_delta(FILE *out, double x)
{
    if (isnan(x))
        fprintf(out, " - |");
    else
        fprintf(out, " %+.2f |", x);
}

static void print_row(FILE *out, const table *t, const paper_columns *paper, int r)
{
    const plan *p = t->plan;
    const experiment *e = p->options.experiment;
    const experiment_row *about = &p->form->rows[r];
    const row_summary *row = &t->rows[r];
    char label[TABLE_LABEL];
    fprintf(out, "| %s |", table_row_label(p, r, label));
    for (int c = 0; c < p->columns; c++) {
        const cell_summary *cell = &row->cells[c];
        if (!t->is_shown[c]) continue;
        print_mean(out, t, r, c);
        if (p->form->columns[c].measure == MEASURE_ACCURACY)
            print_number(out, cell->n ? cell->best : NAN, 2, "");
        print_paper(out, paper->cells[c], about->paper[c]);
    }
    if (e->deltas) {
        print_delta(out, row->delta);
        print_paper(out, paper->delta, about->paper_delta);
    }
    if (table_has_times(p)) {
        print_number(out, row->time, 2, "x");
        print_paper(out, paper->time, about->paper_time);
    }
    if (e->parameters) {
        print_number(out, row->parameters > 0 ? row->parameters / 1e6 : NAN, 3, "M");
        print_paper(out, paper->parameters, about->paper_parameters);
    }
    if (e->memory) print_number(out, row->bytes > 0 ? row->bytes / 1e6 : NAN, 0, " MB");
    fprintf(out, "\n");
}

/* What the trained models reach on test images of other sizes. */
static void print_sizes(FILE *out, const table *t)
{
    const plan *p = t->plan;
    const plan_options *o = &p->options;
    char label[TABLE_LABEL];
    int width = 1;
    fprintf(out, "## Test images of other sizes\n\n| model |");
    for (int c = 0; c < p->columns; c++)
        for (int i = 0; i < o->size_count && t->is_shown[c]; i++, width++)
            fprintf(out, " %s, %d px |", table_column_label(p, c, label), o->sizes[i]);
    print_rule(out, width);
    for (int r = 0; r < p->rows; r++) {
        if (!t->rows[r].is_shown) continue;
        fprintf(out, "| %s |", table_row_label(p, r, label));
        for (int c = 0; c < p->columns; c++)
            for (int i = 0; i < o->size_count && t->is_shown[c]; i++) {
                double deviation;
                const double mean = table_at_size(t, r, c, o->sizes[i], &deviation);
                fprintf(out,
                        isnan(mean)        ? " - |"
                        : isnan(deviation) ? " %.2f |"
                                           : " %.2f ± %.2f |",
                        mean, deviation);
            }
        fprintf(out, "\n");
    }
    fprintf(out, "\nThe images are resized; position embeddings and tables are interpolated.\n\n");
}

static void print_explanation(FILE *out, const table *t)
{
    fprintf(out,
            "\nAccuracies on test images in percent, after the last epoch: mean ± standard "
            "deviation over seeds (%s); then the mean of the best epochs.",
            t->plan->options.seeds <= MAX_LISTED ? "each seed's, or n, the number of seeds"
                                                 : "n, the number of seeds");
    for (int i = 0; i < t->plan->all; i++)
        if (t->states[i] == RUN_DONE && t->results[i].choice == CHOICE_TEST) {
            fprintf(out, " The best epoch is chosen by the test images, so that it is slightly "
                         "optimistic.");
            break;
        }
    if (table_has_times(t->plan))
        fprintf(out, " Train time is the time per image relative to the plain model above, by the "
                     "medians of images/s; it means little on a busy machine.");
    fprintf(out, "\n\n%d of %d runs are done", t->done, t->runs);
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
        const paper_columns paper = paper_of(t);
        print_head(file.stream, t, &paper);
        for (int r = 0; r < p->rows; r++)
            if (t->rows[r].is_shown) print_row(file.stream, t, &paper, r);
        print_explanation(file.stream, t);
        if (p->options.size_count) {
            fprintf(file.stream, "\n");
            print_sizes(file.stream, t);
        }
        if (t->failed) fprintf(file.stream, "\n");
        print_failures(file.stream, t);
    }
    if (reproduce_is_drawn(p)) fprintf(file.stream, "\n![%s](%s.png)\n", e->title, e->name);
    return atomic_commit(&file, error);
}
