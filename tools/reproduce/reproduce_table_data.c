/* The results of an experiment as .csv and .json. */
#include "io/file.h"
#include "io/json.h"
#include "reproduce_settings.h"
#include "reproduce_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; text && *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
    }
    fputs("\",", out);
}

/* Writes nothing for an unknown value. */
static void put_number(FILE *out, double x, const char *end)
{
    if (isfinite(x)) fprintf(out, "%.10g", x);
    fputs(end, out);
}

/* NULL for an experiment without variants. */
static const char *variant_name(const plan *p)
{
    const plan_options *o = &p->options;
    return experiment_has_variants(o->experiment) ? published_variant_name((int)o->variant) : NULL;
}

static void put_cell(FILE *out, const table *t, int r, int c)
{
    const plan *p = t->plan;
    const experiment_row *row = &p->form->rows[r];
    const row_summary *s = &t->rows[r];
    const cell_summary *cell = &s->cells[c];
    const data_choice *data = row->mixer ? plan_data(p, r, c) : NULL;
    put_text(out, p->options.experiment->name);
    put_text(out, experiment_scale_name((int)p->options.scale));
    put_text(out, row->label);
    put_text(out, p->form->columns[c].label);
    put_text(out, data && data->name ? data->name : "");
    fprintf(out, "%d,%d,", cell->n, cell->failed);
    put_number(out, cell->n ? cell->mean : NAN, ",");
    put_number(out, cell->std, ",");
    put_number(out, cell->n ? cell->best : NAN, ",");
    put_number(out, cell->best_std, ",");
    put_text(out, row->paper[c]);
    put_number(out, cell->n ? cell->images_per_s : NAN, ",");
    put_number(out, s->time, ",");
    put_text(out, row->paper_time);
    put_number(out, cell->parameters > 0 ? cell->parameters : NAN, ",");
    put_text(out, row->paper_parameters);
    put_number(out, s->delta, ",");
    fprintf(out, "%s,", row->paper_delta ? row->paper_delta : "");
    put_text(out, variant_name(p));
    put_number(out, cell->bytes > 0 ? cell->bytes : NAN, ",\"");
    for (int i = 0; i < p->options.size_count; i++) {
        double deviation;
        const double mean = table_at_size(t, r, c, p->options.sizes[i], &deviation);
        if (!isnan(mean)) fprintf(out, "%s%d:%.10g", i ? " " : "", p->options.sizes[i], mean);
    }
    fputs("\",", out);
    put_number(out, p->options.lr > 0 ? p->options.lr : NAN, ",\"");
    for (int i = 0; i < p->options.sets.count; i++)
        fprintf(out, "%s%s", i ? " " : "", p->options.sets.words[i]);
    fputs("\"\n", out);
}

ssm2d_status table_write_csv(const table *t, const char *path, ssm2d_error *error)
{
    const plan *p = t->plan;
    atomic_file file;
    const ssm2d_status status = atomic_open(p->context, path, &file, error);
    if (status) return status;
    fputs("experiment,scale,row,column,data,n,failed,mean,std,best_mean,best_std,paper,"
          "images_per_s,train_time,paper_train_time,parameters,paper_parameters,delta,paper_delta,"
          "variant,bytes,sizes,lr,set\n",
          file.stream);
    for (int r = 0; r < p->rows; r++)
        for (int c = 0; c < p->columns; c++)
            if (t->rows[r].is_shown && t->is_shown[c]) put_cell(file.stream, t, r, c);
    return atomic_commit(&file, error);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static int add_number(cJSON *to, const char *key, double x)
{
    return (isfinite(x) ? cJSON_AddNumberToObject(to, key, x) : cJSON_AddNullToObject(to, key))
           != NULL;
}

static int add_text(cJSON *to, const char *key, const char *text)
{
    return (text ? cJSON_AddStringToObject(to, key, text) : cJSON_AddNullToObject(to, key)) != NULL;
}

/* Adds an object to a list if it is complete, else deletes it. Returns whether it was added. */
static int add_or_delete(cJSON *list, cJSON *o, int good)
{
    if (good) return json_add(list, NULL, o);
    cJSON_Delete(o);
    return 0;
}

static int add_run(cJSON *list, const table *t, const planned_run *run)
{
    const int i = (int)(run - t->plan->runs), is_done = t->states[i] == RUN_DONE;
    const run_result *r = &t->results[i];
    char message[1024];
    cJSON *o = cJSON_CreateObject();
    int good = o && cJSON_AddStringToObject(o, "name", run->name)
               && cJSON_AddNumberToObject(o, "seed", run->seed)
               && cJSON_AddStringToObject(o, "state", run_state_name(t->states[i]));
    if (good && is_done)
        good = run_result_add_json(o, 100, r)
               && add_text(o, "best_chosen_by", split_choice_name(r->choice));
    if (good && t->states[i] == RUN_FAILED
        && reproduce_failure(t->plan->context, run, message, sizeof message))
        good = add_text(o, "message", message);
    return add_or_delete(list, o, good);
}

/* What the runs of a cell have in common: all settings except the location of the data and the
 * seed. --results compares them before it imports results. */
static int add_settings(cJSON *cell, const planned_run *run)
{
    train_settings settings;
    return !plan_settings(run, &settings, NULL)
           && json_add(cell, "settings", reproduce_settings_json(&settings))
           && json_add(cell, "images", reproduce_data_json(run->data));
}

static int add_cell(cJSON *list, const table *t, int r, int c)
{
    const plan *p = t->plan;
    const cell_summary *cell = &t->rows[r].cells[c];
    cJSON *o = cJSON_CreateObject(), *runs = NULL;
    int good = o && add_text(o, "column", p->form->columns[c].label)
               && add_text(o, "paper", p->form->rows[r].paper[c])
               && cJSON_AddNumberToObject(o, "n", cell->n)
               && cJSON_AddNumberToObject(o, "failed", cell->failed)
               && add_number(o, "mean", cell->mean) && add_number(o, "std", cell->std)
               && add_number(o, "best_mean", cell->best)
               && add_number(o, "best_std", cell->best_std)
               && add_number(o, "images_per_s", cell->images_per_s)
               && add_number(o, "parameters", cell->parameters > 0 ? cell->parameters : NAN)
               && add_number(o, "bytes", cell->bytes > 0 ? cell->bytes : NAN)
               && (!cell->n || add_settings(o, plan_cell(p, 0, r, c)))
               && (runs = cJSON_AddArrayToObject(o, "runs"));
    for (int seed = 0; seed < (int)p->options.seeds && good; seed++) {
        const planned_run *run = plan_cell(p, seed, r, c);
        if (run) good = add_run(runs, t, run);
    }
    return add_or_delete(list, o, good);
}

static int add_row(cJSON *list, const table *t, int r)
{
    const plan *p = t->plan;
    const experiment_row *row = &p->form->rows[r];
    const row_summary *s = &t->rows[r];
    cJSON *o = cJSON_CreateObject(), *cells = NULL;
    int good = o && add_text(o, "label", row->label) && add_text(o, "mixer", row->mixer)
               && add_number(o, "train_time", s->time)
               && add_text(o, "paper_train_time", row->paper_time)
               && add_number(o, "parameters", s->parameters > 0 ? s->parameters : NAN)
               && add_text(o, "paper_parameters", row->paper_parameters)
               && add_number(o, "delta", s->delta) && add_text(o, "paper_delta", row->paper_delta)
               && (cells = cJSON_AddArrayToObject(o, "cells"));
    for (int c = 0; c < p->columns && good; c++)
        if (t->is_shown[c]) good = add_cell(cells, t, r, c);
    return add_or_delete(list, o, good);
}

static int add_data(cJSON *list, const data_choice *d)
{
    cJSON *o = cJSON_CreateObject();
    const int good = o && add_text(o, "wanted", d->wanted) && add_text(o, "taken", d->name)
                     && add_text(o, "where", d->name ? d->spec : NULL)
                     && cJSON_AddNumberToObject(o, "images", (double)d->facts.images);
    return add_or_delete(list, o, good);
}

/* What the options change; the settings of a cell are complete anyway. */
static int add_variant(cJSON *root, const plan *p)
{
    const plan_options *o = &p->options;
    char note[PUBLISHED_NOTE];
    cJSON *sets = NULL;
    published_variant_note(o->variant, p->form->published, note);
    int good = add_text(root, "variant", variant_name(p))
               && add_text(root, "variant_note", variant_name(p) ? note : NULL)
               && add_number(root, "lr", o->lr > 0 ? o->lr : NAN)
               && (sets = cJSON_AddArrayToObject(root, "set"));
    for (int i = 0; i < o->sets.count && good; i++)
        good = json_add(sets, NULL, cJSON_CreateString(o->sets.words[i]));
    return good;
}

ssm2d_status table_write_json(const table *t, const char *path, ssm2d_error *error)
{
    const plan *p = t->plan;
    const experiment *e = p->options.experiment;
    cJSON *root = cJSON_CreateObject(), *data = NULL, *rows = NULL;
    int good = root && add_text(root, "experiment", e->name) && add_text(root, "title", e->title)
               && add_text(root, "scale", experiment_scale_name((int)p->options.scale))
               && add_text(root, "differs", p->form->differs) && add_text(root, "note", e->note)
               && add_variant(root, p)
               && cJSON_AddNumberToObject(root, "seeds", (double)p->options.seeds)
               && cJSON_AddNumberToObject(root, "runs", t->runs)
               && cJSON_AddNumberToObject(root, "done", t->done)
               && cJSON_AddNumberToObject(root, "failed", t->failed)
               && (data = cJSON_AddArrayToObject(root, "data"))
               && (rows = cJSON_AddArrayToObject(root, "rows"));
    for (int i = 0; i < p->choice_count && good; i++) good = add_data(data, &p->choices[i]);
    for (int r = 0; r < p->rows && good; r++)
        if (t->rows[r].is_shown) good = add_row(rows, t, r);
    if (!good) {
        cJSON_Delete(root);
        root = NULL;
    }
    return json_write(p->context, path, root, error);
}
