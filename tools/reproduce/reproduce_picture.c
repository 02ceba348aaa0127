/* The pictures of experiments, drawn by the code of `ssm2d kernels` and as curves. */
#include "core/context.h"
#include "core/status.h"
#include "draw/curves.h"
#include "reproduce_table.h"
#include "tools/layer/kernels.h"
#include "tools/layer/theory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef char picture_path[RUN_PATH];

/* Every picture is there to look at, for the web, and for a paper. */
static void picture_paths(const plan *p, picture_path paths[PICTURE_FILES])
{
    static const char *const endings[PICTURE_FILES] = {"png", "svg", "pdf"};
    for (int i = 0; i < PICTURE_FILES; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s.%s", p->options.out, p->options.experiment->name,
                 endings[i]);
}

int reproduce_is_drawn(const plan *p)
{
    picture_path paths[PICTURE_FILES];
    picture_paths(p, paths);
    return p->options.experiment->picture != PICTURE_NONE && !access(paths[0], F_OK);
}

static int has_results(const row_summary *row, int columns)
{
    for (int c = 0; c < columns; c++)
        if (row->cells[c].n) return 1;
    return 0;
}

/* One panel for each plain row with the rows after it; bars are standard deviations over seeds. */
static ssm2d_status draw_curves(const ssm2d_context *context, const table *t,
                                picture_path paths[PICTURE_FILES], ssm2d_error *error)
{
    const plan *p = t->plan;
    curve curves[EXPERIMENT_ROWS];
    curve_panel panels[EXPERIMENT_ROWS];
    double x[EXPERIMENT_COLUMNS], y[EXPERIMENT_ROWS][EXPERIMENT_COLUMNS],
        spread[EXPERIMENT_ROWS][EXPERIMENT_COLUMNS];
    char labels[EXPERIMENT_ROWS][TABLE_LABEL];
    int count = 0, lines = 0, is_new = 1; /* is_new: the next row begins a panel */
    ssm2d_status status = SSM2D_OK;
    for (int c = 0; c < p->columns; c++) x[c] = 100 * p->form->columns[c].part;
    for (int r = 0; r < p->rows; r++) {
        const experiment_row *row = &p->form->rows[r];
        is_new |= row->plain;
        if (!has_results(&t->rows[r], p->columns)) continue;
        if (is_new)
            panels[count++] = (curve_panel){.y_label = "test accuracy, %",
                                            .curves = &curves[lines],
                                            .is_percent = 1,
                                            .legend_below = 1};
        is_new = 0;
        for (int c = 0; c < p->columns; c++) {
            const cell_summary *cell = &t->rows[r].cells[c];
            y[r][c] = cell->n ? cell->mean : NAN;
            spread[r][c] = cell->n > 1 ? cell->std : NAN;
        }
        const int k = panels[count - 1].count++;
        curves[lines++] = (curve){.name = table_row_label(p, r, labels[r]),
                                  .x = x,
                                  .y = y[r],
                                  .spread = spread[r],
                                  .count = p->columns,
                                  .colour = colour_of_line(k),
                                  .dots = 1};
    }
    const curve_figure figure = {.title = "Accuracy by training set size",
                                 .x_label = "part of the training images, %",
                                 .panels = panels,
                                 .count = count,
                                 .x_low = 0,
                                 .x_high = 105};
    for (int i = 0; i < PICTURE_FILES && !status && count; i++)
        status = curves_draw(context, paths[i], &figure, error);
    return status;
}

/* ---- scatter --------------------------------------------------------------------------------- */

enum { COSTS = 3 };

static double cost_of(const cell_summary *cell, int cost)
{
    const double values[COSTS] = {cell->time, cell->parameters / 1e6, cell->bytes / 1e6};
    return cell->n && values[cost] > 0 ? values[cost] : NAN;
}

/* A mixer's points in one panel: as it is, and matched. */
typedef struct points {
    double x[2], y[2], spread[2];
} points;

static void add_point(points *p, const cell_summary *cell, int cost, int place)
{
    p->x[place] = cost_of(cell, cost);
    p->y[place] = cell->n ? cell->mean : NAN;
    p->spread[place] = cell->n > 1 ? cell->std : NAN;
}

/* The matched row with the same mixer and settings, or -1. */
static int matched_row(const plan *p, int row)
{
    const experiment_row *own = &p->form->rows[row];
    for (int r = 0; r < p->rows; r++) {
        const experiment_row *other = &p->form->rows[r];
        if (other->matched && !strcmp(other->mixer, own->mixer)
            && !strcmp(other->settings ? other->settings : "", own->settings ? own->settings : ""))
            return r;
    }
    return -1;
}

/* Fills one panel; returns whether it has a point. */
static int scatter_panel(const table *t, int column, int cost, points all[EXPERIMENT_ROWS],
                         curve curves[EXPERIMENT_ROWS], curve_panel *panel)
{
    static const char *const labels[COSTS] = {"time of a training step, plain model = 1",
                                              "parameters, millions",
                                              "memory of a training step, MB"};
    const plan *p = t->plan;
    double low = INFINITY, high = -INFINITY;
    int count = 0;
    for (int r = 0; r < p->rows; r++) {
        const int matched = matched_row(p, r);
        if (p->form->rows[r].matched || !t->rows[r].cells[column].n) continue;
        points *own = &all[count];
        *own = (points){{NAN, NAN}, {NAN, NAN}, {NAN, NAN}};
        add_point(own, &t->rows[r].cells[column], cost, 0);
        if (matched >= 0) add_point(own, &t->rows[matched].cells[column], cost, 1);
        for (int i = 0; i < 2; i++) low = fmin(low, own->x[i]), high = fmax(high, own->x[i]);
        curves[count] = (curve){.name = p->form->rows[r].label,
                                .x = own->x,
                                .y = own->y,
                                .spread = own->spread,
                                .count = 2,
                                .colour = colour_of_line(count),
                                .dots = 2,
                                .dash = 2};
        count++;
    }
    const double margin = fmax(0.08 * (high - low), 0.02 * high);
    *panel = (curve_panel){.y_label = "test accuracy, %",
                           .x_label = labels[cost],
                           .curves = curves,
                           .count = count,
                           .is_percent = 1,
                           .is_scatter = 1,
                           .x_low = low - margin,
                           .x_high = high + 3 * margin}; /* names are on the right */
    return count && low <= high;
}

/* A row of panels for each column: accuracy over time, parameters and memory. */
static ssm2d_status draw_scatter(const ssm2d_context *context, const table *t,
                                 picture_path paths[PICTURE_FILES], ssm2d_error *error)
{
    const plan *p = t->plan;
    const size_t size = (size_t)p->columns * COSTS;
    points(*all)[EXPERIMENT_ROWS] = mem_alloc(context, size * sizeof *all);
    curve(*curves)[EXPERIMENT_ROWS] = mem_alloc(context, size * sizeof *curves);
    curve_panel panels[EXPERIMENT_COLUMNS * COSTS];
    char names[EXPERIMENT_COLUMNS * COSTS][TABLE_LABEL + 32];
    int count = 0;
    ssm2d_status status = all && curves ? SSM2D_OK : fail_memory(error, "picture");
    for (int i = 0; i < (int)size && !status; i++) {
        const int column = i / COSTS;
        char label[TABLE_LABEL];
        if (!scatter_panel(t, column, i % COSTS, all[i], curves[i], &panels[count])) continue;
        snprintf(names[count], sizeof names[count], "%s: test accuracy, %%",
                 table_column_label(p, column, label));
        panels[count].y_label = names[count];
        count++;
    }
    const curve_figure figure = {.title = p->options.experiment->title,
                                 .note = "Dots: models as they are; rings: with as many parameters "
                                         "as the largest. Bars: standard deviations over seeds.",
                                 .panels = panels,
                                 .count = count,
                                 .columns = table_has_times(p) ? COSTS : COSTS - 1};
    for (int i = 0; i < PICTURE_FILES && !status && count; i++)
        status = curves_draw(context, paths[i], &figure, error);
    mem_free(context, all);
    mem_free(context, curves);
    return status;
}

/* As `ssm2d kernels RUN.. --receptive-field test -o PATH`, of the runs with the first seed. */
static ssm2d_status draw_fields(ssm2d_context *context, const table *t,
                                picture_path paths[PICTURE_FILES], ssm2d_error *error)
{
    const plan *p = t->plan;
    char *folders[EXPERIMENT_ROWS];
    const char *titles[EXPERIMENT_ROWS];
    int count = 0;
    for (int r = 0; r < p->rows; r++) {
        const planned_run *run = plan_cell(p, 0, r, 0);
        if (!run || t->states[run - p->runs] != RUN_DONE) continue;
        titles[count] = p->form->rows[r].label;
        folders[count++] = p->runs[run - p->runs].folder;
    }
    if (!count) return SSM2D_OK; /* there is nothing to draw yet */
    const kernels_field what = {.runs = {folders, count},
                                .titles = titles,
                                .images = "test",
                                .count = p->options.scale == SCALE_TINY ? 8 : 64,
                                .outputs = {paths[0], paths[1], paths[2]},
                                .weights = RUN_MODEL};
    return kernels_field_draw(context, &what, error);
}

ssm2d_status reproduce_draw(ssm2d_context *context, const table *t, ssm2d_error *error)
{
    picture_path paths[PICTURE_FILES];
    ssm2d_status status = SSM2D_OK;
    picture_paths(t->plan, paths);
    switch (t->plan->options.experiment->picture) {
    case PICTURE_PATHS:
        for (int i = 0; i < PICTURE_FILES && !status; i++)
            status = theory_paths_draw(context, paths[i], error);
        return status;
    case PICTURE_KERNELS:
        for (int i = 0; i < PICTURE_FILES && !status; i++)
            status = kernels_figure3_draw(context, paths[i], error);
        return status;
    case PICTURE_CURVES: return draw_curves(context, t, paths, error);
    case PICTURE_SCATTER: return draw_scatter(context, t, paths, error);
    case PICTURE_RECEPTIVE_FIELDS: return draw_fields(context, t, paths, error);
    case PICTURE_NONE: break;
    }
    return SSM2D_OK;
}
