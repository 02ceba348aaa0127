#include "train_values.h"

#include "core/status.h"
#include "io/json.h"
#include "io/text.h"
#include "tools/setting_hint.h"
#include "train/data_defaults.h"

#include <stdio.h>
#include <string.h>

const char *recipe_name_at(int i) { return recipe_at(i) ? recipe_at(i)->name : NULL; }

/* ---- settings -------------------------------------------------------------------------------- */

static ssm2d_status apply_set(const word_list *list, train_settings *s, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < list->count && !status; i++) {
        char key[OPTION_KEY];
        const char *value;
        status = option_pair("--set", list->words[i], key, &value, error);
        if (!status && strcmp(key, "model"))
            status = train_settings_set(s, "--set", key, value, error);
    }
    return status;
}

/* Sets the model first, because it resets all keys of the model. */
static ssm2d_status set_model(const train_values *o, train_settings *s, int *is_set,
                              ssm2d_error *error)
{
    const char *name = o->model, *where = "--model", *value;
    char key[OPTION_KEY];
    for (int i = 0; i < o->set.count; i++)
        if (!option_pair("--set", o->set.words[i], key, &value, NULL) && !strcmp(key, "model")) {
            name = value;
            where = "--set";
        }
    *is_set = name != NULL;
    return name ? train_settings_set(s, where, "model", name, error) : SSM2D_OK;
}

/* Applies the command line, except the model. */
static ssm2d_status apply(const train_values *o, train_settings *s, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    if (o->mixer) status = train_settings_set(s, "--mixer", "mixer", o->mixer, error);
    if (!status) status = apply_set(&o->set, s, error);
#define OPTION(kind, field, default_value, low, high, names, help)                                 \
    if (!status && o->text_##field)                                                                \
        status = train_settings_set(s, FIELD_OPTION, #field, o->text_##field, error);
#include "train/options.def"
#undef OPTION
    return status;
}

/* Applies the settings of --config, if there is one; without its model if model_set. */
static ssm2d_status apply_file(const train_values *o, const cJSON *file, int model_set,
                               train_settings *s, ssm2d_error *error)
{
    if (!file) return SSM2D_OK;
    cJSON *copy = cJSON_Duplicate(file, 1);
    if (!copy) return fail_memory(error, "settings");
    if (model_set && cJSON_IsObject(copy)) cJSON_DeleteItemFromObjectCaseSensitive(copy, "model");
    const ssm2d_status status = train_settings_from_json(s, o->config, copy, error);
    cJSON_Delete(copy);
    return status;
}

/* Applies everything except a recipe. */
static ssm2d_status without_recipe(const train_values *o, const cJSON *file, train_settings *s,
                                   ssm2d_error *error)
{
    int model_set;
    ssm2d_status status = train_settings_begin(s, error);
    if (!status) train_settings_leave_open(s);
    if (!status) status = set_model(o, s, &model_set, error);
    if (!status) status = apply_file(o, file, model_set, s, error);
    if (!status) status = apply(o, s, error);
    return status;
}

/* A recipe depends on the model, its mixer and the data, which the file and the command line give;
 * so all settings are applied twice: first without the recipe to find these, then after it. */
static ssm2d_status with_recipe(const train_values *o, const cJSON *file, train_settings *s,
                                ssm2d_error *error)
{
    train_settings run;
    ssm2d_status status = without_recipe(o, file, &run, error);
    if (status || !o->recipe) {
        *s = run;
        return status;
    }
    const recipe *r = recipe_find(o->recipe, error);
    if (!r) return SSM2D_ERROR_ARGUMENT;
    status = train_settings_begin(s, error);
    if (!status) train_settings_leave_open(s);
    if (!status) status = train_settings_set(s, "--model", "model", run.model.model->name, error);
    if (!status) status = recipe_apply(r, &run, s, error);
    if (!status) status = apply_file(o, file, 1, s, error);
    if (!status) status = apply(o, s, error);
    return status;
}

static int on_command_line(const train_values *o, const char *key)
{
    char name[OPTION_KEY];
    const char *value;
    if ((o->model && !strcmp(key, "model")) || (o->mixer && !strcmp(key, "mixer"))) return 1;
    for (int i = 0; i < o->set.count; i++)
        if (!option_pair("--set", o->set.words[i], name, &value, NULL)
            && setting_is_named(name, strcmp(key, "mixer") ? key : "mixer.kind"))
            return 1;
#define OPTION(kind, field, default_value, low, high, names, help)                                 \
    if (o->text_##field && !strcmp(key, #field)) return 1;
#include "train/options.def"
#undef OPTION
    return 0;
}

/* Whether the file has the key, or for mixer.KEY its object "mixer" has it. */
static int in_file(const cJSON *file, const char *key)
{
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(file, "mixer");
    if (strncmp(key, "mixer.", 6)) return cJSON_HasObjectItem(file, key);
    return cJSON_HasObjectItem(file, key) || cJSON_HasObjectItem(inner, key + 6);
}

/* Reads the settings, and the file of --config only once, because it may be a pipe. The caller
 * frees *file, also after a failure. */
static ssm2d_status read_settings(const ssm2d_context *context, const train_values *o,
                                  train_settings *s, cJSON **file, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    *file = NULL;
    if (o->config && context) status = json_read(context, o->config, file, error);
    if (!status) status = with_recipe(o, *file, s, error);
    /* a default would silently train the weights on other data */
    if (!status && strcmp(s->options.start, "random") && !on_command_line(o, "data")
        && !(*file && in_file(*file, "data")))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "--data is missing: name the images to train the weights of --start on");
    if (!status && s->options.norm_mean != 0 && !(s->options.norm_std > 0))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "norm_mean=%g needs norm_std, the standard deviation, as well",
                      s->options.norm_mean);
    return status;
}

ssm2d_status train_values_settings(const ssm2d_context *context, const train_values *o,
                                   train_settings *s, ssm2d_error *error)
{
    cJSON *file;
    const ssm2d_status status = read_settings(context, o, s, &file, error);
    cJSON_Delete(file);
    return status;
}

/* ---- origin of a setting --------------------------------------------------------------------- */

static int in_recipe(const recipe *r, const train_settings *s, const char *key)
{
    recipe_line line;
    for (int i = 0; r && recipe_line_at(r, i, &line); i++)
        if (!strcmp(line.key, key) && recipe_line_applies(&line, s)) return 1;
    return 0;
}

typedef struct printing {
    const train_values *options;
    const train_settings *settings;
    const recipe *recipe;
    const cJSON *file; /* of --config, or NULL */
} printing;

static void print_value(const printing *p, const char *key, const char *value)
{
    char from[64] = "default";
    const int open = (!strcmp(key, "image") && !p->settings->model.image[0])
                     || (!strcmp(key, "channels") && !p->settings->model.channels)
                     || (!strcmp(key, OUTPUTS_KEY) && !p->settings->model.outputs)
                     || data_defaults_will_choose(p->settings, key);
    if (on_command_line(p->options, key))
        snprintf(from, sizeof from, "command line");
    else if (p->file && in_file(p->file, key))
        snprintf(from, sizeof from, "--config");
    else if (in_recipe(p->recipe, p->settings, key))
        snprintf(from, sizeof from, "recipe %s", p->recipe->name);
    else if (open)
        snprintf(from, sizeof from, "the data");
    else if (!train_settings_is_common(key) && strcmp(key, "model"))
        snprintf(from, sizeof from, "model %s", p->settings->model.model->name);
    if (open) value = "-";
    const int width = (int)(strlen(key) + 1 + strlen(value)), column = 40;
    printf("%s=", key);
    text_print(stdout, value);
    printf("%*s  %s\n", width < column ? column - width : 0, "", from);
}

static ssm2d_status print_object(const printing *p, const char *prefix, const cJSON *object,
                                 ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (const cJSON *item = object->child; item && !status; item = item->next) {
        char key[OPTION_KEY + 8];
        const int is_kind = *prefix && !strcmp(item->string, "kind"); /* of a mixer */
        snprintf(key, sizeof key, "%s%s", is_kind ? "" : prefix, is_kind ? "mixer" : item->string);
        if (cJSON_IsObject(item)) {
            status = print_object(p, "mixer.", item, error);
            continue;
        }
        const char *fixed = cJSON_IsNull(item) ? "none" : item->valuestring;
        char *text = fixed ? NULL : cJSON_PrintUnformatted(item);
        if (!text && !fixed) return fail_memory(error, "settings");
        print_value(p, key, text ? text : fixed);
        cJSON_free(text);
    }
    return status;
}

ssm2d_status train_values_print(const ssm2d_context *context, const train_values *o,
                                ssm2d_error *error)
{
    train_settings s;
    cJSON *file = NULL, *all = NULL;
    ssm2d_status status = read_settings(context, o, &s, &file, error);
    if (!status) status = train_options_check(&s.options, error);
    if (!status && !(all = train_settings_to_json(&s))) status = fail_memory(error, "settings");
    const printing p = {o, &s, !status && o->recipe ? recipe_find(o->recipe, error) : NULL, file};
    if (!status) status = print_object(&p, "", all, error);
    cJSON_Delete(file);
    cJSON_Delete(all);
    return status;
}
