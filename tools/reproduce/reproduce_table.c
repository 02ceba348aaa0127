#include "reproduce_table.h"

#include "core/context.h"
#include "core/spread.h"
#include "core/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

static const char *label(const char *own, const data_choice *data, char text[TABLE_LABEL])
{
    if (data && data->name && data->stand_in)
        snprintf(text, TABLE_LABEL, "%s (%s)", own, data->stand_in);
    else
        snprintf(text, TABLE_LABEL, "%s", own);
    return text;
}

const char *table_column_label(const plan *p, int column, char text[TABLE_LABEL])
{
    const experiment_column *c = &p->form->columns[column];
    const data_choice *data = NULL;
    for (int r = 0; r < p->rows && c->data && !data; r++)
        if (p->form->rows[r].mixer) data = plan_data(p, r, column);
    return label(c->label, data, text);
}

const char *table_row_label(const plan *p, int row, char text[TABLE_LABEL])
{
    const experiment_row *r = &p->form->rows[row];
    return label(r->label, r->data && r->mixer ? plan_data(p, row, 0) : NULL, text);
}

int table_has_times(const plan *p)
{
    return p->options.experiment->times && p->options.scale != SCALE_TINY;
}

/* ---- summaries ------------------------------------------------------------------------------- */

double table_value(const table *t, int seed, int row, int column)
{
    const planned_run *run = plan_cell(t->plan, seed, row, column);
    if (!run || t->states[run - t->plan->runs] != RUN_DONE) return NAN;
    const run_result *r = &t->results[run - t->plan->runs];
    return 100 * (t->plan->form->columns[column].measure == MEASURE_TOP5 ? r->top5 : r->score);
}

double table_at_size(const table *t, int row, int column, int size, double *deviation)
{
    spread value = spread_none();
    for (int seed = 0; seed < (int)t->plan->options.seeds; seed++) {
        const planned_run *run = plan_cell(t->plan, seed, row, column);
        if (!run || t->states[run - t->plan->runs] != RUN_DONE) continue;
        spread_add(&value, 100 * run_result_at_size(&t->results[run - t->plan->runs], size));
    }
    *deviation = value.deviation;
    return value.n ? value.mean : NAN;
}

static void sum_up_cell(const table *t, int row, int column, cell_summary *cell)
{
    const plan *p = t->plan;
    const int top5 = p->form->columns[column].measure == MEASURE_TOP5;
    spread value = spread_none(), best = value, speed = value;
    *cell = (cell_summary){.time = NAN};
    for (int seed = 0; seed < (int)p->options.seeds; seed++) {
        const planned_run *run = plan_cell(p, seed, row, column);
        if (!run) continue;
        const run_result *r = &t->results[run - p->runs];
        cell->failed += t->states[run - p->runs] == RUN_FAILED;
        if (t->states[run - p->runs] != RUN_DONE) continue;
        spread_add(&value, table_value(t, seed, row, column));
        spread_add(&best, top5 ? NAN : r->best);
        spread_add(&speed, r->images_per_s);
        if (!(cell->parameters > 0)) cell->parameters = r->parameters;
        if (!(cell->bytes > 0) && r->bytes > 0) cell->bytes = r->bytes;
    }
    cell->n = value.n;
    cell->mean = value.mean;
    cell->std = value.deviation;
    cell->best = 100 * best.mean;
    cell->best_std = 100 * best.deviation;
    cell->images_per_s = speed.mean;
}

/* The row's time is the mean over the columns that both rows have. */
static void add_times(const row_summary *plain, row_summary *row, int columns)
{
    spread ratio = spread_none();
    for (int c = 0; c < columns; c++) {
        row->cells[c].time = plain->cells[c].images_per_s / row->cells[c].images_per_s;
        spread_add(&ratio, row->cells[c].time);
    }
    row->time = ratio.mean;
}

static double mean_delta(const plan *p, const row_summary *row)
{
    spread delta = spread_none();
    for (int c = 0; c < p->columns; c++) {
        const int with = p->form->columns[c].with;
        if (with) spread_add(&delta, row->cells[c].mean - row->cells[with - 1].mean);
    }
    return delta.mean;
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
            const int is_shown = p->chosen[r][c] || row->cells[c].n > 0;
            row->is_shown |= is_shown;
            t->is_shown[c] |= is_shown;
            if (!(row->parameters > 0)) row->parameters = row->cells[c].parameters;
            if (!(row->bytes > 0)) row->bytes = row->cells[c].bytes;
        }
        if (p->form->rows[r].plain) plain = row;
        if (plain && p->options.scale != SCALE_TINY) add_times(plain, row, p->columns);
        if (p->options.experiment->deltas) row->delta = mean_delta(p, row);
    }
}

/* How many runs the shown cells have in all; each counts once. */
static void count_runs(table *t)
{
    const plan *p = t->plan;
    for (int i = 0; i < p->all; i++) {
        int is_shown = 0;
        for (int cell = 0; cell < (int)p->options.seeds * p->rows * p->columns; cell++)
            is_shown |= p->cells[cell] == i && t->is_shown[cell % p->columns]
                        && t->rows[cell / p->columns % p->rows].is_shown;
        t->runs += is_shown;
        t->done += is_shown && t->states[i] == RUN_DONE;
        t->failed += is_shown && t->states[i] == RUN_FAILED;
    }
}

ssm2d_status table_create(const plan *p, table *t, ssm2d_error *error)
{
    *t = (table){.plan = p};
    const size_t count = p->all ? (size_t)p->all : 1;
    t->states = mem_alloc(p->context, count * sizeof *t->states);
    t->results = mem_alloc(p->context, count * sizeof *t->results);
    if (!t->states || !t->results) return fail_memory(error, "results");
    for (int i = 0; i < p->all; i++)
        t->states[i] = reproduce_state(p->context, &p->runs[i], &t->results[i], NULL);
    sum_up(t);
    count_runs(t);
    return SSM2D_OK;
}

void table_destroy(table *t)
{
    if (!t->plan) return;
    mem_free(t->plan->context, t->states);
    mem_free(t->plan->context, t->results);
    *t = (table){0};
}
