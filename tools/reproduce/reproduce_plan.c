#include "reproduce_plan.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"
#include "tools/runs/train_values.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- one run --------------------------------------------------------------------------------- */

/* A run under construction: its words follow each other in its text. */
typedef struct writing {
    planned_run *run;
    size_t used;
    int full;
} writing;

static void add(writing *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(writing *w, const char *format, ...)
{
    char *to = w->run->text + w->used;
    const size_t left = sizeof w->run->text - w->used;
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(to, left, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= left || w->run->count >= PLAN_WORDS) {
        w->full = 1;
        return;
    }
    w->run->words[w->run->count++] = to;
    w->used += (size_t)length + 1;
}

/* Adds a part to the name, without the brackets of lists. */
static void name_add(writing *w, const char *text, size_t length)
{
    char *name = w->run->setup;
    size_t at = strlen(name);
    if (at + length + 2 > PLAN_SETUP) {
        w->full = 1;
        return;
    }
    if (at) name[at++] = '+';
    for (size_t i = 0; i < length; i++)
        if (text[i] != '[' && text[i] != ']') name[at++] = text[i] == ',' ? '-' : text[i];
    name[at] = 0;
}

/* Settings, separated by spaces, as --set. In the name they are parts of their own, or together
 * `called`. */
static void add_settings_as(writing *w, const char *settings, const char *called)
{
    if (called && *settings) name_add(w, called, strlen(called));
    for (const char *s = settings ? settings : ""; *s;) {
        const size_t length = strcspn(s, " ");
        if (length) {
            add(w, "--set");
            add(w, "%.*s", (int)length, s);
            if (!called) name_add(w, s, length);
        }
        s += length + (s[length] == ' ');
    }
}

static void add_settings(writing *w, const char *settings) { add_settings_as(w, settings, NULL); }

static const char *first_of(const char *one, const char *two) { return one ? one : two; }

/* The fraction of the training images that a run uses, as text; "" for all of them. */
static void fraction_text(const plan *p, const experiment_column *c, const data_choice *data,
                          char text[32])
{
    double part = c->part > 0 ? c->part : 1;
    if (p->form->images && data->facts.images > (size_t)p->form->images)
        part *= (double)p->form->images / (double)data->facts.images;
    *text = 0;
    if (part < 1) snprintf(text, 32, "%.6g", part);
}

/* What the paper's runs have: the code's settings of a model and its mixer go by the name `paper`,
 * and the text's of training by `text`. */
static void add_published(writing *w, const plan *p, const char *backbone, const char *mixed,
                          const char *rules, const char *own)
{
    const int is_complex = own && strstr(own, CARTESIAN) != NULL;
    const published_settings s =
        published_find(backbone, mixed, is_complex, rules, p->options.variant);
    char all[512];
    snprintf(all, sizeof all, "%s%s%s", s.model, *s.model && *s.mixer ? " " : "", s.mixer);
    add_settings_as(w, all, "paper");
    add_settings(w, s.variant);
    add_settings_as(w, s.training, "text");
}

/* The user's settings: those whose bit is set in `taken`. */
static void add_given(writing *w, const plan_options *o, uint64_t taken)
{
    char text[48];
    if (o->lr > 0) {
        snprintf(text, sizeof text, "lr=%.10g", o->lr);
        add_settings(w, text);
    }
    for (int i = 0; i < o->sets.count; i++)
        if (taken >> i & 1) {
            add(w, "--set");
            add(w, "%s", o->sets.words[i]);
            name_add(w, o->sets.words[i], strlen(o->sets.words[i]));
        }
}

static ssm2d_status write_run_with(const plan *p, const experiment_row *r,
                                   const experiment_column *c, const data_choice *data, int seed,
                                   uint64_t taken, planned_run *run, ssm2d_error *error)
{
    writing w = {.run = run};
    char fraction[32], number[32];
    const char *mixed = !strcmp(r->mixer, "none") && c->plain_mixer ? c->plain_mixer : r->mixer;
    const char *backbone = first_of(r->model, c->model),
               *rules = first_of(c->recipe, p->form->recipe);
    const long epochs = p->options.epochs ? p->options.epochs : p->form->epochs;
    *run = (planned_run){.data = data, .seed = seed};
    name_add(&w, data->name, strlen(data->name));
    name_add(&w, backbone, strlen(backbone));
    name_add(&w, mixed, strlen(mixed));
    name_add(&w, rules, strlen(rules));
    add(&w, "train");
    add(&w, "--data");
    add(&w, "%s", data->spec);
    add(&w, "--model");
    add(&w, "%s", backbone);
    add(&w, "--mixer");
    add(&w, "%s", mixed);
    add(&w, "--recipe");
    add(&w, "%s", rules);
    add_settings(&w, r->settings);
    add_settings(&w, c->settings);
    add_settings(&w, p->form->settings);
    if (p->form->published) add_published(&w, p, backbone, mixed, rules, r->settings);
    add_given(&w, &p->options, taken);
    fraction_text(p, c, data, fraction);
    if (*fraction) {
        add(&w, "--train-fraction");
        add(&w, "%s", fraction);
        snprintf(number, sizeof number, "part=%s", fraction);
        name_add(&w, number, strlen(number));
    }
    if (epochs) {
        add(&w, "--epochs");
        add(&w, "%ld", epochs);
        snprintf(number, sizeof number, "epochs=%ld", epochs);
        name_add(&w, number, strlen(number));
    }
    add(&w, "--seed");
    add(&w, "%d", seed);
    snprintf(run->name, sizeof run->name, "%s+seed=%d", run->setup, seed);
    add(&w, "--out");
    add(&w, "%s/runs/%s", p->options.out, run->name);
    const int length =
        snprintf(run->folder, sizeof run->folder, "%s/runs/%s", p->options.out, run->name);
    if (p->options.experiment->picture != PICTURE_RECEPTIVE_FIELDS)
        snprintf(run->taken, sizeof run->taken, "%s/taken/%s.json", p->options.out, run->name);
    if (w.full || length < 0 || length >= (int)sizeof run->folder)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name of the folder is too long%s",
                    text_path(p->options.out), taken ? ", as it contains the words of --set" : "");
    return SSM2D_OK;
}

/* Whether a run has a setting; one of a mixer belongs to the kind of the run's own. */
static int has_setting(const train_settings *s, const char *key)
{
    static const char prefix[] = "mixer.";
    if (strncmp(key, prefix, strlen(prefix))) return train_settings_have(s, key);
    cJSON *root = train_settings_to_json(s);
    const cJSON *mixed = cJSON_GetObjectItemCaseSensitive(root, "mixer");
    const int has = cJSON_IsObject(mixed)
                    && cJSON_GetObjectItemCaseSensitive(mixed, key + strlen(prefix)) != NULL;
    cJSON_Delete(root);
    return has;
}

/* Writes a run with those settings of --set that it has, and marks them in *used: mixer.n_ssm, for
 * example, is nothing that a model without a mixer has. */
static ssm2d_status write_run(plan *p, const experiment_row *r, const experiment_column *c,
                              const data_choice *data, int seed, planned_run *run,
                              ssm2d_error *error)
{
    char key[OPTION_KEY];
    const char *value;
    train_settings settings;
    uint64_t taken = 0;
    ssm2d_status status = write_run_with(p, r, c, data, seed, 0, run, error);
    if (status || !p->options.sets.count) return status;
    if ((status = plan_settings(run, &settings, error))) return status;
    for (int i = 0; i < p->options.sets.count; i++)
        if (!option_pair("--set", p->options.sets.words[i], key, &value, NULL)
            && has_setting(&settings, key))
            taken |= (uint64_t)1 << i;
    p->used |= taken;
    return write_run_with(p, r, c, data, seed, taken, run, error);
}

ssm2d_status plan_settings(const planned_run *run, train_settings *settings, ssm2d_error *error)
{
    train_values values = {0};
    char *words[PLAN_WORDS];
    long threads;
    int help;
    memcpy(words, run->words, sizeof words);
    ssm2d_status status =
        command_parse(&command_train, run->count - 1, words + 1, &values, &threads, &help, error);
    if (!status) status = train_values_settings(NULL, &values, settings, error);
    if (!status) train_settings_close_data(settings); /* results are compared by their settings */
    if (!status) status = train_options_check(&settings->options, error);
    return status;
}

void plan_print_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+.,:/@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

void plan_print_command(FILE *out, const planned_run *run, int resume, int threads)
{
    fputs("ssm2d", out);
    if (resume) {
        fputs(" train --resume ", out);
        plan_print_word(out, run->folder);
    }
    for (int i = 0; i < run->count && !resume; i++) {
        fputc(' ', out);
        plan_print_word(out, run->words[i]);
    }
    if (threads) fprintf(out, " --threads %d", threads);
    fputc('\n', out);
}

/* ---- all runs -------------------------------------------------------------------------------- */

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

static void lower(const char *text, char out[128])
{
    size_t i = 0;
    for (; text[i] && i < 127; i++) out[i] = (char)tolower((unsigned char)text[i]);
    out[i] = 0;
}

/* How well a label matches a pattern: 2, it is equal; 1, it contains it, or matches it as a shell
 * pattern; 0, not at all. Ignores case. */
static int fit(const char *pattern, const char *label)
{
    char wanted[128], is[128];
    if (!pattern) return 1;
    lower(pattern, wanted);
    lower(label, is);
    if (!strcmp(wanted, is)) return 2;
    return strpbrk(wanted, "*?[") ? !fnmatch(wanted, is, 0) : strstr(is, wanted) != NULL;
}

/* Chooses the rows that match best: with "ViT" the row of this label, but not "ViT w/ EMA". */
static ssm2d_status choose_rows(plan *p, ssm2d_error *error)
{
    int best = 0;
    char shown[64];
    while (p->form->columns[p->columns].label) p->columns++;
    for (; p->form->rows[p->rows].label; p->rows++) {
        const int fits = fit(p->options.rows, p->form->rows[p->rows].label);
        if (fits > best) best = fits;
    }
    for (int r = 0; r < p->rows && best; r++)
        p->chosen[r] = fit(p->options.rows, p->form->rows[r].label) == best;
    if (best || !p->rows) return SSM2D_OK;
    char labels[256] = "";
    for (int r = 0; r < p->rows; r++) {
        const size_t used = strlen(labels);
        snprintf(labels + used, sizeof labels - used, "%s%s", r ? ", " : "",
                 p->form->rows[r].label);
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "--rows %s: no row of %s has this label; they are %s",
                text_show(p->options.rows, strlen(p->options.rows), shown, sizeof shown),
                p->options.experiment->name, labels);
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
    /* rows that are not run need no data */
    if (status && (is_chosen || status == SSM2D_ERROR_MEMORY))
        return fail(error, status, "%s", why.line);
    if (status) choice->name = NULL;
    choice->is_chosen = is_chosen;
    p->choice_count++;
    return SSM2D_OK;
}

/* Finds the data of all cells, those of chosen rows first. */
static ssm2d_status find_data(ssm2d_context *context, plan *p, ssm2d_error *error)
{
    const data_search search = {p->options.data, p->options.before, p->options.scale,
                                p->options.placeholder};
    int found = 0, wanted = 0;
    ssm2d_status status = SSM2D_OK;
    for (int is_chosen = 1; is_chosen >= 0; is_chosen--)
        for (int r = 0; r < p->rows; r++)
            for (int c = 0; c < p->columns && !status; c++) {
                if (!has_runs(p, r, c) || p->chosen[r] != is_chosen) continue;
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

/* Plans the runs of the chosen rows, or of the others. All rows of one seed come before the next
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
                if (p->chosen[r] != is_chosen) continue;
                const data_choice *data = has_runs(p, r, c) ? plan_data(p, r, c) : NULL;
                *cell = -1;
                if (!data || !data->name) continue;
                status =
                    write_run(p, &p->form->rows[r], &p->form->columns[c], data, seed, &run, error);
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
    if (!status) status = choose_rows(p, error);
    if (!status) status = find_data(context, p, error);
    if (status || !p->rows) return status;
    const size_t cells = cell_index(p, options->seeds, 0, 0);
    p->runs = mem_alloc(context, cells * sizeof *p->runs);
    p->cells = mem_alloc(context, cells * sizeof *p->cells);
    if (!p->runs || !p->cells)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu runs", cells);
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
