#include "reproduce_plan.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"
#include "reproduce_match.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const char *first_of(const char *one, const char *two) { return one ? one : two; }

static const char *data_name(const plan *p, int row, int column)
{
    return first_of(p->form->rows[row].data, p->form->columns[column].data);
}

const data_choice *plan_data(const plan *p, int row, int column)
{
    const char *name = data_name(p, row, column);
    for (int i = 0; i < p->choice_count; i++)
        if (!strcmp(p->choices[i].wanted, name)) return &p->choices[i];
    return NULL;
}

/* Whether a cell has runs if its data are given. */
static int has_runs(const plan *p, int row, int column)
{
    const experiment_row *r = &p->form->rows[row];
    return r->mixer && (!r->columns || column < r->columns);
}

static size_t cell_index(const plan *p, long seed, int row, int column)
{
    return ((size_t)seed * (size_t)p->rows + (size_t)row) * (size_t)p->columns + (size_t)column;
}

const planned_run *plan_cell(const plan *p, int seed, int row, int column)
{
    const int i = p->cells[cell_index(p, seed, row, column)];
    return i < 0 ? NULL : &p->runs[i];
}

enum { PATTERN = 128 };

static void lower(const char *text, char out[PATTERN])
{
    size_t i = 0;
    for (; text[i] && i + 1 < PATTERN; i++) out[i] = (char)tolower((unsigned char)text[i]);
    out[i] = 0;
}

/* How well a label matches a pattern: 2, it is equal; 1, it contains it, or matches it as a shell
 * pattern; 0, not at all, as with an empty one. Ignores case. */
static int fit(const char *pattern, const char *label)
{
    char wanted[PATTERN], is[PATTERN];
    lower(pattern, wanted);
    lower(label, is);
    if (!*wanted) return 0;
    if (!strcmp(wanted, is)) return 2;
    return strpbrk(wanted, "*?[") ? !fnmatch(wanted, is, 0) : strstr(is, wanted) != NULL;
}

/* How well a cell matches a pattern: by the column's label, or its data's name. */
static int column_fit(const plan *p, const char *pattern, int row, int column)
{
    const int label = fit(pattern, p->form->columns[column].label);
    if (!p->form->rows[row].mixer) return label;
    return max_int(label, fit(pattern, data_name(p, row, column)));
}

/* Adds a name to a list in words, unless it is there already. */
static void list_name(char list[256], const char *name)
{
    const size_t used = strlen(list), length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ',')) return;
    snprintf(list + used, 256 - used, "%s%s", used ? ", " : "", name);
}

static ssm2d_status fail_no_row(const plan *p, const char *pattern, ssm2d_error *error)
{
    char labels[256] = "", shown[64];
    for (int r = 0; r < p->rows; r++) list_name(labels, p->form->rows[r].label);
    return fail(error, SSM2D_ERROR_ARGUMENT, "--%s %s: no row of %s has this label; they are %s",
                p->options.rows_option, text_show(pattern, strlen(pattern), shown, sizeof shown),
                p->options.experiment->name, labels);
}

static ssm2d_status fail_no_column(const plan *p, const char *pattern, ssm2d_error *error)
{
    char labels[256] = "", names[256] = "", shown[64];
    for (int c = 0; c < p->columns; c++) list_name(labels, p->form->columns[c].label);
    for (int r = 0; r < p->rows; r++)
        for (int c = 0; c < p->columns; c++)
            if (has_runs(p, r, c)) list_name(names, data_name(p, r, c));
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "--%s %s: no cell of %s that would be run has a column of this label, or these "
                "data; labels are %s; data are %s",
                p->options.columns_option, text_show(pattern, strlen(pattern), shown, sizeof shown),
                p->options.experiment->name, labels, names);
}

/* The first of the alternatives ONE|TWO..; returns those after it, or NULL. */
static const char *next_pattern(const char *patterns, char one[PATTERN])
{
    const size_t length = strcspn(patterns, "|");
    snprintf(one, PATTERN, "%.*s", (int)min_size(length, PATTERN), patterns);
    return patterns[length] ? patterns + length + 1 : NULL;
}

/* Chooses the rows that match best: with "ViT" the row of this label, but not "ViT w/ EMA". */
static ssm2d_status choose_rows(const plan *p, const char *patterns,
                                char is_chosen[EXPERIMENT_ROWS], ssm2d_error *error)
{
    char pattern[PATTERN];
    for (const char *rest = patterns; rest;) {
        int best = 0;
        rest = next_pattern(rest, pattern);
        for (int r = 0; r < p->rows; r++)
            best = max_int(best, fit(pattern, p->form->rows[r].label));
        if (!best) return fail_no_row(p, pattern, error);
        for (int r = 0; r < p->rows; r++)
            is_chosen[r] |= fit(pattern, p->form->rows[r].label) == best;
    }
    return SSM2D_OK;
}

/* Chooses the cells of these rows whose columns match best. */
static ssm2d_status choose_columns(plan *p, const char *patterns, const char rows[EXPERIMENT_ROWS],
                                   ssm2d_error *error)
{
    char pattern[PATTERN], fits[EXPERIMENT_ROWS][EXPERIMENT_COLUMNS] = {{0}};
    for (const char *rest = patterns; rest;) {
        int best = 0;
        rest = next_pattern(rest, pattern);
        for (int r = 0; r < p->rows; r++)
            for (int c = 0; c < p->columns && rows[r]; c++) {
                if (p->form->rows[r].mixer && !has_runs(p, r, c)) continue;
                fits[r][c] = (char)column_fit(p, pattern, r, c);
                best = max_int(best, fits[r][c]);
            }
        if (!best) return fail_no_column(p, pattern, error);
        for (int r = 0; r < p->rows; r++)
            for (int c = 0; c < p->columns; c++) p->chosen[r][c] |= fits[r][c] == best;
    }
    return SSM2D_OK;
}

static ssm2d_status choose_cells(plan *p, ssm2d_error *error)
{
    const plan_options *o = &p->options;
    char rows[EXPERIMENT_ROWS] = {0};
    while (p->form->columns[p->columns].label) p->columns++;
    while (p->form->rows[p->rows].label) p->rows++;
    if (!p->rows) return SSM2D_OK;
    const ssm2d_status status = choose_rows(p, o->rows ? o->rows : "*", rows, error);
    return status ? status : choose_columns(p, o->columns ? o->columns : "*", rows, error);
}

/* Finds the data that an experiment calls name, unless they have been found already. */
static ssm2d_status find_choice(ssm2d_context *context, plan *p, const data_search *search,
                                const char *name, int is_chosen, ssm2d_error *error)
{
    data_choice *choice = &p->choices[p->choice_count];
    ssm2d_error why;
    for (int i = 0; i < p->choice_count; i++)
        if (!strcmp(p->choices[i].wanted, name)) return SSM2D_OK;
    const ssm2d_status status = reproduce_data_find(context, search, name, choice, &why);
    /* cells that are not run need no data */
    if (status && (is_chosen || status == SSM2D_ERROR_MEMORY))
        return fail(error, status, "%s", why.line);
    if (status) choice->name = NULL;
    choice->is_chosen = is_chosen;
    p->choice_count++;
    return SSM2D_OK;
}

/* Finds the data of all cells, those of chosen ones first. */
static ssm2d_status find_data(ssm2d_context *context, plan *p, ssm2d_error *error)
{
    const data_search search = {p->options.data, p->options.before, p->options.scale,
                                p->options.placeholder};
    int found = 0, wanted = 0;
    ssm2d_status status = SSM2D_OK;
    for (int is_chosen = 1; is_chosen >= 0; is_chosen--)
        for (int r = 0; r < p->rows; r++)
            for (int c = 0; c < p->columns && !status; c++) {
                if (!has_runs(p, r, c) || p->chosen[r][c] != is_chosen) continue;
                status = find_choice(context, p, &search, data_name(p, r, c), is_chosen, error);
                if (!status && is_chosen) found += plan_data(p, r, c)->name != NULL;
                wanted += is_chosen;
            }
    if (status || found || !wanted) return status;
    char names[256] = "";
    for (int i = 0; i < p->choice_count; i++)
        if (p->choices[i].is_chosen)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     *names ? ", " : "", p->choices[i].wanted);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s needs data that are not given: %s. To get %s: %s",
                p->options.experiment->name, names, p->choices[0].wanted, p->choices[0].help);
}

/* The index of the run with this name, which is added if it is new. */
static int place_of(plan *p, const planned_run *run)
{
    int i = 0;
    while (i < p->all && strcmp(p->runs[i].name, run->name)) i++;
    if (i == p->all) {
        planned_run *to = &p->runs[p->all++];
        *to = *run;
        for (int k = 0; k < run->count; k++) to->words[k] = to->text + (run->words[k] - run->text);
    }
    return i;
}

/* The settings of a cell's runs, and what its model's size depends on. */
static ssm2d_status cell_settings(plan *p, int r, int c, train_settings *settings, match_data *data,
                                  ssm2d_error *error)
{
    planned_run run;
    const data_choice *choice = plan_data(p, r, c);
    const ssm2d_status status =
        plan_write_run(p, &p->form->rows[r], &p->form->columns[c], choice, 0, 0, &run, error);
    *data = (match_data){choice->facts.channels ? choice->facts.channels : 3,
                         choice->facts.labels ? choice->facts.labels : 10};
    return status ? status : plan_settings(&run, settings, error);
}

/* Finds the widths of a column's matched rows: all models get as many parameters as the largest. */
static ssm2d_status match_column(ssm2d_context *context, plan *p, int c, ssm2d_error *error)
{
    size_t largest = 0, count;
    train_settings settings;
    match_data data;
    ssm2d_status status = SSM2D_OK;
    for (int is_matched = 0; is_matched < 2; is_matched++)
        for (int r = 0; r < p->rows && !status; r++) {
            if (p->form->rows[r].matched != is_matched || !has_runs(p, r, c)
                || !plan_data(p, r, c)->name)
                continue;
            status = cell_settings(p, r, c, &settings, &data, error);
            if (!status) status = match_count(context, &settings, &data, &count, error);
            if (status) break;
            if (!is_matched)
                largest = max_size(largest, count);
            else if (count < largest) /* the largest row's own runs are its matched ones */
                status = match_find(context, &settings, &data, largest, &p->widths[r][c], error);
        }
    return status;
}

static ssm2d_status match_rows(ssm2d_context *context, plan *p, ssm2d_error *error)
{
    const uint64_t used = p->used; /* rows that are not run do not use words of --set */
    int matched = 0;
    ssm2d_status status = SSM2D_OK;
    for (int r = 0; r < p->rows; r++) matched |= p->form->rows[r].matched;
    for (int c = 0; c < p->columns && matched && !status; c++)
        status = match_column(context, p, c, error);
    p->used = used;
    return status;
}

/* Plans the runs of the chosen cells, or of the others. All rows of one seed come before the next
 * seed, so that a table fills evenly. */
static ssm2d_status write_runs(plan *p, int is_chosen, ssm2d_error *error)
{
    planned_run run;
    train_settings settings;
    ssm2d_status status = SSM2D_OK;
    for (int seed = 0; seed < (int)p->options.seeds; seed++)
        for (int r = 0; r < p->rows; r++)
            for (int c = 0; c < p->columns; c++) {
                int *cell = &p->cells[cell_index(p, seed, r, c)];
                if (p->chosen[r][c] != is_chosen) continue;
                const data_choice *data = has_runs(p, r, c) ? plan_data(p, r, c) : NULL;
                *cell = -1;
                if (!data || !data->name) continue;
                status = plan_write_run(p, &p->form->rows[r], &p->form->columns[c], data,
                                        p->widths[r][c], seed, &run, error);
                if (!status && !seed) status = plan_settings(&run, &settings, error);
                if (status) return status;
                *cell = place_of(p, &run);
                p->runs[*cell].top5 |= p->form->columns[c].measure == MEASURE_TOP5;
            }
    return status;
}

/* Refuses words of --set that no run has. */
static ssm2d_status check_sets(const plan *p, ssm2d_error *error)
{
    char shown[96];
    for (int i = 0; i < p->options.sets.count && p->count; i++) {
        const char *word = p->options.sets.words[i];
        if (!(p->used >> i & 1))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "--set %s: no run of %s has this setting; ssm2d train --help=all and ssm2d "
                        "models --keys list them",
                        text_show(word, strlen(word), shown, sizeof shown),
                        p->options.experiment->name);
    }
    return SSM2D_OK;
}

/* Refuses a scale that an experiment does not have, and names those that it has. */
static ssm2d_status check_scale(const plan *p, ssm2d_error *error)
{
    const experiment *e = p->options.experiment;
    char names[64] = "";
    if (p->form->columns) return SSM2D_OK;
    for (int i = 0; i < SCALES; i++)
        if (e->forms[i].columns)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     *names ? ", " : "", experiment_scale_name(i));
    return fail(error, SSM2D_ERROR_ARGUMENT, "--scale %s: %s has no such scale, but %s",
                experiment_scale_name((int)p->options.scale), e->name, names);
}

ssm2d_status plan_create(ssm2d_context *context, const plan_options *options, plan *p,
                         ssm2d_error *error)
{
    *p = (plan){.context = context,
                .options = *options,
                .form = &options->experiment->forms[options->scale]};
    ssm2d_status status = check_scale(p, error);
    if (!status) status = choose_cells(p, error);
    if (!status) status = find_data(context, p, error);
    if (status || !p->rows) return status;
    const size_t cells = cell_index(p, options->seeds, 0, 0);
    p->runs = mem_alloc(context, cells * sizeof *p->runs);
    p->cells = mem_alloc(context, cells * sizeof *p->cells);
    if (!p->runs || !p->cells) return fail_memory(error, "%zu runs", cells);
    if ((status = match_rows(context, p, error))) return status;
    status = write_runs(p, 1, error);
    p->count = p->all;
    if (!status) status = check_sets(p, error);
    return status ? status : write_runs(p, 0, error);
}

void plan_destroy(plan *p)
{
    mem_free(p->context, p->runs);
    mem_free(p->context, p->cells);
    *p = (plan){0};
}
