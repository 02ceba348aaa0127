/* ssm2d models - every model by name with the mixers that the paper's tables have for it: how many
 * parameters it has, beside what the paper prints, and where the two do not agree. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/json.h"
#include "models/weights.h"
#include "paper_counts.h"
#include "tools/command.h"
#include "tools/runs/models_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct values {
    int json, keys;
} values;

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON"},
    {"keys", OPTION_FLAG, offsetof(values, keys),
     .help = "list the keys of a configuration instead; with --json also their values in every "
             "model and mixer"},
    {0}};

/* The rows for a model that is not in the paper: mixers, and their settings; EMA and the
 * convolution for models that have them unless told otherwise. */
static const paper_count rows_with_ema[] = {{.mixer = "none", .settings = ""},
                                            {.mixer = "ema", .settings = ""},
                                            {.mixer = "ssm2d", .settings = ""},
                                            {.mixer = "ssm2d", .settings = "values=polar"},
                                            {0}};
static const paper_count our_rows[] = {{.mixer = "none", .settings = ""},
                                       {.mixer = "ssm2d", .settings = ""},
                                       {.mixer = "ssm2d", .settings = "values=polar"},
                                       {0}};

static const paper_count rows_with_conv[] = {
    {.mixer = "none", .settings = ""},
    {.mixer = "conv", .settings = ""},
    {.mixer = "s4nd", .settings = ""},
    {.mixer = "ssm2d", .settings = ""},
    {.mixer = "ssm2d", .settings = "values=cartesian directions=2"},
    {0}};

/* One row of the table: a model with a mixer. */
typedef struct row {
    model_config config;
    size_t parameters;
    const paper_count *paper; /* without `millions` where the paper has no such row */
} row;

static ssm2d_status row_of(ssm2d_context *context, const model *m, const paper_count *paper,
                           row *out, ssm2d_error *error)
{
    weights *w;
    model_config *c = &out->config;
    ssm2d_status status = model_config_named(m->name, c, error);
    if (!status) status = model_config_use_mixer(c, mixer_find(paper->mixer), error);
    if (!status) status = mixer_config_preset(paper->settings, &c->mixer, error);
    if (status) return status;
    const paper_model *counted = paper_model_find(m->name);
    if (counted && counted->image) c->image[0] = c->image[1] = counted->image;
    if (counted) c->outputs = counted->classes;
    if ((status = model_config_finish(c, error))) return status;
    if ((status = weights_create(context, c, &w, error))) return status;
    out->parameters = w->learned;
    out->paper = paper;
    weights_destroy(w);
    return SSM2D_OK;
}

/* ---- as text --------------------------------------------------------------------------------- */

enum { COLUMNS = 10, CELL = 160, MAX_NOTES = 32 };

static const char *const headings[COLUMNS] = {"model", "image",   "patch",      "dim",   "depth",
                                              "heads", "classes", "parameters", "paper", "mixer"};

typedef struct line {
    char cells[COLUMNS][CELL];
} line;

/* The number of a note, from 1 on; the same text has the same number. */
static int note_number(const char *notes[MAX_NOTES], const char *note)
{
    int i = 0;
    while (notes[i] && notes[i] != note) i++;
    notes[i] = note;
    return i + 1;
}

/* Whether this is what a run has that names no mixer. */
static int is_default(const row *r)
{
    return r->config.mixer.kind == model_default_mixer(r->config.model) && !*r->paper->settings;
}

static void fill_line(line *l, const row *r, const char *notes[MAX_NOTES])
{
    const model_config *c = &r->config;
    const paper_count *p = r->paper;
    snprintf(l->cells[0], CELL, "%s", c->model->name);
    snprintf(l->cells[1], CELL, "%dx%d", c->image[0], c->image[1]);
    for (int i = 2; i < 6; i++) model_config_text(c, headings[i], l->cells[i], CELL);
    snprintf(l->cells[6], CELL, "%d", c->outputs);
    snprintf(l->cells[7], CELL, "%zu", r->parameters);
    if (p->millions)
        snprintf(l->cells[8], CELL, "%s M", p->millions);
    else
        snprintf(l->cells[8], CELL, "-");
    mixer_config_text(&c->mixer, l->cells[9], CELL);
    if (is_default(r)) strncat(l->cells[9], " *", CELL - strlen(l->cells[9]) - 1);
    const size_t used = strlen(l->cells[9]);
    if (p->note) snprintf(l->cells[9] + used, CELL - used, " [%d]", note_number(notes, p->note));
}

/* Numbers stand to the right of their column, words to the left. */
static void print_lines(const line *lines, int count, const char *const notes[MAX_NOTES])
{
    int widths[COLUMNS];
    for (int k = 0; k < COLUMNS; k++) {
        widths[k] = (int)strlen(headings[k]);
        for (int i = 0; i < count; i++)
            widths[k] = max_int(widths[k], (int)strlen(lines[i].cells[k]));
    }
    for (int i = -1; i < count; i++)
        for (int k = 0; k < COLUMNS; k++) {
            const char *cell = i < 0 ? headings[k] : lines[i].cells[k];
            const int last = k == COLUMNS - 1, width = last ? 0 : widths[k];
            printf("%*s%s", k < 2 ? -width : width, cell, last ? "\n" : "  ");
        }
    printf("\n* the mixer of a run that names none\n");
    for (int i = 0; i < MAX_NOTES && notes[i]; i++) printf("[%d] %s\n", i + 1, notes[i]);
}

static ssm2d_status print_rows(ssm2d_context *context, const row *rows, int count,
                               ssm2d_error *error)
{
    const char *notes[MAX_NOTES] = {0};
    line *lines = mem_alloc(context, (size_t)count * sizeof *lines);
    if (!lines) return fail_memory(error, "table");
    for (int i = 0; i < count; i++) fill_line(&lines[i], &rows[i], notes);
    print_lines(lines, count, notes);
    mem_free(context, lines);
    return SSM2D_OK;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static int add_text_or_null(cJSON *entry, const char *key, const char *text)
{
    return (text ? cJSON_AddStringToObject(entry, key, text) : cJSON_AddNullToObject(entry, key))
           != NULL;
}

static int add_json(cJSON *list, const row *r)
{
    const model_config *c = &r->config;
    const paper_count *p = r->paper;
    char settings[CELL];
    cJSON *entry = cJSON_CreateObject();
    mixer_config_text(&c->mixer, settings, sizeof settings);
    const int good =
        entry && cJSON_AddStringToObject(entry, "model", c->model->name)
        && cJSON_AddStringToObject(entry, "mixer", c->mixer.kind->name)
        && cJSON_AddBoolToObject(entry, "default", is_default(r))
        && cJSON_AddBoolToObject(entry, "complex", strstr(p->settings, "values=") != NULL)
        && json_add(entry, "image", cJSON_CreateIntArray(c->image, 2))
        && cJSON_AddNumberToObject(entry, "classes", c->outputs)
        && cJSON_AddNumberToObject(entry, "parameters", (double)r->parameters)
        && (p->millions ? cJSON_AddNumberToObject(entry, "paper", atof(p->millions))
                        : cJSON_AddNullToObject(entry, "paper"))
        && (p->table ? cJSON_AddNumberToObject(entry, "table", p->table)
                     : cJSON_AddNullToObject(entry, "table"))
        && add_text_or_null(entry, "note", p->note)
        && cJSON_AddStringToObject(entry, "settings", settings)
        && json_add(entry, "config", model_config_to_json(c));
    if (good) return json_add(list, NULL, entry);
    cJSON_Delete(entry);
    return 0;
}

static ssm2d_status print_json(const row *rows, int count, ssm2d_error *error)
{
    cJSON *list = cJSON_CreateArray();
    char *text = NULL;
    int good = list != NULL;
    for (int i = 0; i < count && good; i++) good = add_json(list, &rows[i]);
    if (good) text = cJSON_Print(list);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(list);
    return text ? SSM2D_OK : fail_memory(error, "table");
}

/* ---- the command ----------------------------------------------------------------------------- */

static const paper_count *rows_of(const model *m)
{
    const paper_model *counted = paper_model_find(m->name);
    if (counted) return counted->counts;
    if (model_default_mixer(m) == &layer_conv) return rows_with_conv;
    return model_default_mixer(m) == &layer_ema ? rows_with_ema : our_rows;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    const model *m;
    int count = 0, filled = 0;
    if (o->keys) return o->json ? models_keys_json(error) : models_keys_text(error);
    for (int i = 0; (m = model_at(i)); i++)
        for (const paper_count *p = rows_of(m); p->mixer; p++) count++;
    row *rows = mem_alloc(context, (size_t)count * sizeof *rows);
    ssm2d_status status = rows ? SSM2D_OK : fail_memory(error, "table");
    for (int i = 0; (m = model_at(i)) && !status; i++)
        for (const paper_count *p = rows_of(m); p->mixer && !status; p++)
            status = row_of(context, m, p, &rows[filled++], error);
    if (!status)
        status = o->json ? print_json(rows, count, error) : print_rows(context, rows, count, error);
    mem_free(context, rows);
    return status;
}

static const char about[] =
    "Lists every model with each mixer that the paper's Tables 1, 2 and 4 have for it, with its "
    "settings and its number of parameters beside the number in the paper, for the paper's classes "
    "and image sizes. Notes say where the paper's text and its counts disagree. A configuration "
    "may change everything; --keys lists its keys.";

const command command_models = {
    "models", "list models and their numbers of parameters", about, options, NULL, run, 0};
