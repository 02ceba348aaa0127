#include "reproduce_options.h"

#include "core/context.h"
#include "core/status.h"
#include "io/json.h"
#include "io/text.h"
#include "reproduce_settings.h"
#include "train/run_folder.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_SEEDS = 3, MAX_KEPT = 64, MAX_SIZE = 4096 };

static void options_path(const char *out, const char *name, char path[RUN_PATH])
{
    snprintf(path, RUN_PATH, "%s/%s.options.json", out, name);
}

/* The file to read: that of an earlier version if there is no other. */
static void kept_path(const char *out, const experiment *e, char path[RUN_PATH])
{
    char before[RUN_PATH];
    options_path(out, e->name, path);
    if (!e->earlier || !access(path, F_OK)) return;
    options_path(out, e->earlier, before);
    if (!access(before, F_OK)) memcpy(path, before, sizeof before);
}

const experiment *reproduce_experiment(const char *name, const char *out)
{
    char path[RUN_PATH];
    const experiment *e;
    for (int i = 0; out && (e = experiment_at(i)); i++) {
        if (!e->earlier || strcmp(e->earlier, name)) continue;
        options_path(out, name, path);
        if (!access(path, F_OK)) return e;
    }
    return experiment_find(name);
}

static int scale_of(const char *name)
{
    for (int i = 0; i < SCALES; i++)
        if (!strcmp(name, experiment_scale_name(i))) return i;
    return -1;
}

/* Adds the data that one experiment has kept. */
static ssm2d_status add_kept(const char *out, int which, reproduce_options *o, ssm2d_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o->kept[which], "data"), *item;
    char path[RUN_PATH];
    int count = 0, good = !list || cJSON_IsArray(list);
    cJSON_ArrayForEach(item, list)
    {
        char *word = item->valuestring;
        good = good && cJSON_IsString(item) && count++ < MAX_KEPT
               && !reproduce_data_check(&(word_list){&word, 1}, NULL);
        if (good) o->data.words[o->data.count++] = word;
    }
    if (good) return SSM2D_OK;
    kept_path(out, experiment_at(which), path);
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: \"data\" is not a list of NAME=DATA: remove the file", text_path(path));
}

/* What one experiment knows about data, as reproduce_data_json writes it; damaged entries are
 * ignored. */
static void add_facts(const cJSON *kept, data_facts facts[DATA_NAMES])
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(kept, "found"))
    {
        const int i = item->string ? reproduce_data_index(item->string) : -1;
        int images, labels, channels;
        if (i < 0 || json_get_int("", item, "count", JSON_REQUIRED, 1, INT_MAX, &images, NULL)
            || json_get_int("", item, "classes", JSON_REQUIRED, 1, INT_MAX, &labels, NULL)
            || json_get_int("", item, "channels", JSON_REQUIRED, 1, 3, &channels, NULL))
            continue;
        facts[i] = (data_facts){(size_t)images, labels, channels};
    }
}

/* For each name the last entry counts: those of other experiments, then of this one, then those
 * given. */
static ssm2d_status join_data(const ssm2d_context *context, const reproduce_values *given, int own,
                              reproduce_options *o, ssm2d_error *error)
{
    const size_t max = MAX_KEPT * MAX_EXPERIMENTS + (size_t)given->data.count;
    ssm2d_status status = SSM2D_OK;
    o->data.words = mem_alloc(context, max * sizeof *o->data.words);
    if (!o->data.words) return fail_memory(error, "options");
    for (int i = 0; experiment_at(i) && !status; i++)
        if (i != own) status = add_kept(given->out, i, o, error);
    o->first_own = o->data.count;
    if (!status) status = add_kept(given->out, own, o, error);
    for (int i = 0; i < given->data.count; i++)
        o->data.words[o->data.count++] = given->data.words[i];
    return status;
}

/* How much of an experiment is run. */
typedef struct extent {
    int scale; /* -1: not known */
    int seeds, epochs;
} extent;

/* The extent that one experiment has stored; unknown without a file. */
static ssm2d_status read_extent(const ssm2d_context *context, const char *out, int which,
                                cJSON **kept, extent *e, ssm2d_error *error)
{
    char path[RUN_PATH];
    const char *scale = "";
    ssm2d_error why;
    *e = (extent){.scale = -1};
    kept_path(out, experiment_at(which), path);
    if (access(path, F_OK)) return SSM2D_OK;
    ssm2d_status status = json_read_regular(context, path, kept, &why);
    if (!status) status = json_get_string(path, *kept, "scale", JSON_REQUIRED, &scale, &why);
    e->scale = scale_of(scale);
    if (!status && e->scale < 0)
        status = fail(&why, SSM2D_ERROR_ARGUMENT,
                      "%s: \"scale\" is not full, medium, small or tiny", text_path(path));
    if (!status)
        status = json_get_int(path, *kept, "seeds", JSON_REQUIRED, 1, 100, &e->seeds, &why);
    if (!status)
        status = json_get_int(path, *kept, "epochs", JSON_REQUIRED, 0, 1000000, &e->epochs, &why);
    if (!status) return SSM2D_OK;
    return fail(error, status, "%.400s: remove this file, or give another --out", why.line);
}

/* What the other experiments in OUT have in common, so that it need not be repeated for several
 * tables. */
static ssm2d_status common_extent(const char *out, const extent *kept, extent *common,
                                  ssm2d_error *error)
{
    const char *first = NULL;
    for (int i = 0; experiment_at(i); i++) {
        /* what trains nothing has no extent */
        if (kept[i].scale < 0 || !experiment_trains(experiment_at(i))) continue;
        if (first && kept[i].scale != common->scale)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "--scale is missing: in %s %s has %s and %s has %s", text_path(out), first,
                        experiment_scale_name(common->scale), experiment_name_at(i),
                        experiment_scale_name(kept[i].scale));
        if (!first) {
            *common = kept[i];
            first = experiment_name_at(i);
        }
        if (kept[i].seeds != common->seeds) common->seeds = DEFAULT_SEEDS;
        if (kept[i].epochs != common->epochs) common->epochs = 0;
    }
    return SSM2D_OK;
}

ssm2d_status reproduce_set_check(const char *word, ssm2d_error *error)
{
    char key[OPTION_KEY];
    const char *value;
    const ssm2d_status status = option_pair("--set", word, key, &value, error);
    if (status || strcspn(word, " /+\"\\") == strlen(word)) return status;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "--set %s=: the value becomes part of a folder's name and must not contain spaces, "
                "quotes or any of / + \\",
                key);
}

ssm2d_status reproduce_sizes_check(const char *text, int sizes[PLAN_SIZES], int *count,
                                   ssm2d_error *error)
{
    *count = 0;
    if (!strcmp(text, "none")) return SSM2D_OK;
    for (const char *s = text; *s;) {
        char *end;
        const long size = strtol(s, &end, 10);
        if (end == s || size < 1 || size > MAX_SIZE || (*end && *end != ',')
            || *count == PLAN_SIZES)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "--test-sizes %s: must be up to %d sides of images in pixels, from 1 to "
                        "%d, such as 24,40,48, or none",
                        text_path(text), PLAN_SIZES, MAX_SIZE);
        sizes[(*count)++] = (int)size;
        s = *end ? end + 1 : end;
    }
    return SSM2D_OK;
}

/* The sizes of test images: the given ones, or those that are stored. */
static ssm2d_status choose_sizes(const char *given, const cJSON *kept, plan_options *p,
                                 ssm2d_error *error)
{
    const cJSON *item;
    if (given) return reproduce_sizes_check(given, p->sizes, &p->size_count, error);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(
                                 kept, "test_sizes")) if (cJSON_IsNumber(item)
                                                          && item->valueint >= 1
                                                          && item->valueint <= MAX_SIZE
                                                          && p->size_count < PLAN_SIZES)
        p->sizes[p->size_count++] = item->valueint;
    return SSM2D_OK;
}

static int variant_of(const char *name)
{
    for (int i = 0; name && i < VARIANTS; i++)
        if (!strcmp(name, published_variant_name(i))) return i;
    return -1;
}

/* Variant, learning rate and settings: the given ones, or those that are stored for this scale. */
static ssm2d_status choose_changes(const reproduce_values *given, const cJSON *kept,
                                   reproduce_options *o, ssm2d_error *error)
{
    plan_options *p = &o->plan;
    const cJSON *lr = cJSON_GetObjectItemCaseSensitive(kept, "lr"), *item,
                *sets = cJSON_GetObjectItemCaseSensitive(kept, "set");
    const int is_published = p->experiment->forms[p->scale].published;
    /* earlier versions stored `variant` always, and had none but the library's where the form is
     * not published */
    const char *key = cJSON_HasObjectItem(kept, "follows") || !is_published ? "follows" : "variant",
               *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(kept, key));
    const int variant = variant_of(given->variant ? given->variant : name);
    p->variant = variant < 0 ? published_default(is_published) : (published_variant)variant;
    if (!experiment_has_variants(p->experiment) && p->variant != VARIANT_LIBRARY)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--variant %s: %s has no published settings, and only the variant library",
                    published_variant_name(variant), p->experiment->name);
    p->lr = !isnan(given->lr)                           ? given->lr
            : cJSON_IsNumber(lr) && lr->valuedouble > 0 ? lr->valuedouble
                                                        : 0;
    ssm2d_status status = choose_sizes(given->test_sizes, kept, p, error);
    if (status) return status;
    p->sets = (word_list){o->sets, 0};
    if (given->set.count > PLAN_SETS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--set: at most %d are possible, not %d",
                    PLAN_SETS, given->set.count);
    for (int i = 0; i < given->set.count; i++)
        if (strcmp(given->set.words[i], "default")) o->sets[p->sets.count++] = given->set.words[i];
    if (given->set.count) return SSM2D_OK;
    cJSON_ArrayForEach(item, sets) if (cJSON_IsString(item) && p->sets.count < PLAN_SETS
                                       && !reproduce_set_check(item->valuestring, NULL))
        o->sets[p->sets.count++] = item->valuestring;
    return SSM2D_OK;
}

ssm2d_status reproduce_options_read(const ssm2d_context *context, const reproduce_values *given,
                                    reproduce_options *o, ssm2d_error *error)
{
    extent kept[MAX_EXPERIMENTS], e = {.scale = -1, .seeds = DEFAULT_SEEDS};
    const experiment *wanted = reproduce_experiment(given->name, given->out);
    int own = 0;
    ssm2d_status status = SSM2D_OK;
    *o = (reproduce_options){0};
    for (int i = 0; experiment_at(i) && !status; i++) {
        status = read_extent(context, given->out, i, &o->kept[i], &kept[i], error);
        add_facts(o->kept[i], o->facts);
        if (experiment_at(i) == wanted) own = i;
    }
    if (status) return status;
    add_facts(o->kept[own], o->facts);
    if (kept[own].scale >= 0)
        e = kept[own];
    else if (!given->scale)
        status = common_extent(given->out, kept, &e, error);
    const int scale = given->scale ? scale_of(given->scale) : e.scale;
    if (scale != e.scale) e = (extent){.seeds = DEFAULT_SEEDS}; /* stored for another scale */
    if (!status) status = join_data(context, given, own, o, error);
    o->plan =
        (plan_options){.experiment = wanted,
                       .scale = scale < 0 ? wanted->usual : (experiment_scale)scale,
                       .data = &o->data,
                       .before = o->facts,
                       .rows = given->rows,
                       .columns = given->columns,
                       .rows_option = given->rows_option ? given->rows_option : "rows",
                       .columns_option = given->columns_option ? given->columns_option : "columns",
                       .out = given->out,
                       .seeds = given->seeds == OPTION_UNSET ? e.seeds : given->seeds,
                       .epochs = given->epochs == OPTION_UNSET ? e.epochs : given->epochs,
                       .placeholder = given->dry_run};
    if (!status)
        status = choose_changes(given, scale == kept[own].scale ? o->kept[own] : NULL, o, error);
    return status;
}

/* Whether a later word has the same name, and so replaces this one. */
static int is_replaced(const word_list *data, int i)
{
    char key[OPTION_KEY], other[OPTION_KEY];
    const char *value;
    if (option_pair("--data", data->words[i], key, &value, NULL)) return 1;
    for (int k = i + 1; k < data->count; k++)
        if (!option_pair("--data", data->words[k], other, &value, NULL) && !strcmp(key, other))
            return 1;
    return 0;
}

/* NAME=SPEC with an absolute folder, so that the experiment can continue from anywhere. */
static cJSON *absolute_data(const char *word)
{
    char key[OPTION_KEY], here[RUN_PATH], spec[DATA_SPEC], whole[OPTION_KEY + DATA_SPEC];
    const char *value = "";
    option_pair("--data", word, key, &value, NULL);
    const int changed = dataset_present(value) && getcwd(here, sizeof here) && *here == '/'
                        && dataset_rebase(value, here, spec, sizeof spec);
    snprintf(whole, sizeof whole, "%s=%s", key, changed ? spec : value);
    return cJSON_CreateString(whole);
}

ssm2d_status reproduce_options_write(const ssm2d_context *context, const reproduce_options *o,
                                     const plan *p, ssm2d_error *error)
{
    char path[RUN_PATH];
    cJSON *root = cJSON_CreateObject(), *sets = NULL, *list = NULL, *found = NULL;
    int good =
        root && cJSON_AddStringToObject(root, "scale", experiment_scale_name((int)o->plan.scale))
        && cJSON_AddNumberToObject(root, "seeds", (double)o->plan.seeds)
        && cJSON_AddNumberToObject(root, "epochs", (double)o->plan.epochs)
        && cJSON_AddStringToObject(root, "follows", published_variant_name((int)o->plan.variant))
        && cJSON_AddNumberToObject(root, "lr", o->plan.lr)
        && json_add(root, "test_sizes", cJSON_CreateIntArray(o->plan.sizes, o->plan.size_count))
        && (sets = cJSON_AddArrayToObject(root, "set"))
        && (list = cJSON_AddArrayToObject(root, "data"))
        && (found = cJSON_AddObjectToObject(root, "found"));
    for (int i = 0; i < o->plan.sets.count && good; i++)
        good = json_add(sets, NULL, cJSON_CreateString(o->sets[i]));
    for (int i = o->first_own; i < o->data.count && good; i++)
        if (!is_replaced(&o->data, i)) good = json_add(list, NULL, absolute_data(o->data.words[i]));
    for (int i = 0; i < p->choice_count && good; i++) {
        const data_choice *d = &p->choices[i];
        if (d->name && !cJSON_HasObjectItem(found, d->name))
            good = json_add(found, d->name, reproduce_data_json(d));
    }
    if (!good) {
        cJSON_Delete(root);
        root = NULL;
    }
    options_path(o->plan.out, o->plan.experiment->name, path);
    return json_write(context, path, root, error);
}

void reproduce_options_destroy(const ssm2d_context *context, reproduce_options *o)
{
    for (int i = 0; i < MAX_EXPERIMENTS; i++) cJSON_Delete(o->kept[i]);
    mem_free(context, o->data.words);
    *o = (reproduce_options){0};
}
