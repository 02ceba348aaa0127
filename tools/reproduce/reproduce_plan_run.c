/* One run of a plan: the words of its command, and its name. */
#include "core/status.h"
#include "io/text.h"
#include "reproduce_match.h"
#include "reproduce_plan.h"
#include "tools/runs/train_values.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A run under construction: its words follow each other in its text. */
typedef struct writing {
    planned_run *run;
    published_variant variant;
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

/* The setting in a word of an experiment, or NULL if it does not apply in the variant. */
static const char *word_in(const char *word, published_variant v)
{
    static const struct {
        const char *prefix;
        int is_library;
    } kinds[] = {{PAPER_WORD, 0}, {LIBRARY_WORD, 1}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i].prefix);
        if (!strncmp(word, kinds[i].prefix, length))
            return kinds[i].is_library == (v == VARIANT_LIBRARY) ? word + length : NULL;
    }
    return word;
}

/* Settings, separated by spaces, as --set. In the name they are parts of their own, or together
 * `called`. */
static void add_settings_as(writing *w, const char *settings, const char *called)
{
    if (called && *settings) name_add(w, called, strlen(called));
    for (const char *s = settings ? settings : "", *end; *s; s = end + (*end == ' ')) {
        end = s + strcspn(s, " ");
        const char *word = word_in(s, w->variant);
        if (end == s || !word) continue;
        add(w, "--set");
        add(w, "%.*s", (int)(end - word), word);
        if (!called) name_add(w, word, (size_t)(end - word));
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
 * and the text's of training by `text`. Where a model stands for another than usual, the name says
 * for which. */
static void add_published(writing *w, const plan *p, const char *backbone, const char *mixed,
                          const char *own)
{
    const char *other = p->form->stands_for.model;
    const int is_other = other && !strcmp(other, backbone);
    const char *paper = is_other ? p->form->stands_for.paper : published_model(backbone);
    const int is_complex = own && strstr(own, COMPLEX_SYSTEMS) != NULL;
    const published_settings s = published_find(paper, mixed, is_complex, w->variant);
    char all[512], called[32];
    snprintf(all, sizeof all, "%s%s%s", s.model, *s.model && *s.mixer ? " " : "", s.mixer);
    snprintf(called, sizeof called, "paper%s%s", is_other ? "-" : "", is_other ? paper : "");
    add_settings_as(w, all, called);
    add_settings(w, s.variant);
    if (p->form->published) add_settings_as(w, s.training, "text");
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
                                   const experiment_column *c, const data_choice *data,
                                   double width, int seed, uint64_t taken, planned_run *run,
                                   ssm2d_error *error)
{
    writing w = {.run = run, .variant = p->options.variant};
    char fraction[32], number[32];
    const char *mixed = !strcmp(r->mixer, "none") && c->plain_mixer ? c->plain_mixer : r->mixer;
    const char *backbone = first_of(r->model, c->model),
               *rules = first_of(c->recipe, p->form->recipe);
    const long epochs = p->options.epochs ? p->options.epochs : p->form->epochs;
    *run = (planned_run){.data = data, .seed = seed, .size_count = p->options.size_count};
    memcpy(run->sizes, p->options.sizes, sizeof run->sizes);
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
    if (w.variant != VARIANT_LIBRARY) add_published(&w, p, backbone, mixed, r->settings);
    add_given(&w, &p->options, taken);
    if (width > 0) {
        snprintf(number, sizeof number, MATCH_KEY "=%.10g", width);
        add_settings(&w, number);
    }
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

ssm2d_status plan_write_run(plan *p, const experiment_row *r, const experiment_column *c,
                            const data_choice *data, double width, int seed, planned_run *run,
                            ssm2d_error *error)
{
    char key[OPTION_KEY];
    const char *value;
    train_settings settings;
    uint64_t taken = 0;
    ssm2d_status status = write_run_with(p, r, c, data, width, seed, 0, run, error);
    if (status || !p->options.sets.count) return status;
    if ((status = plan_settings(run, &settings, error))) return status;
    for (int i = 0; i < p->options.sets.count; i++)
        if (!option_pair("--set", p->options.sets.words[i], key, &value, NULL)
            && has_setting(&settings, key))
            taken |= (uint64_t)1 << i;
    p->used |= taken;
    return write_run_with(p, r, c, data, width, seed, taken, run, error);
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
