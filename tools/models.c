/* ssm2d models - every model by name, plain and with the 2-D SSM: how many parameters it has,
 * beside what the paper prints. */
#include "command.h"
#include "core/status.h"
#include "io/json.h"
#include "models/weights.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
    int json, keys;
} values;

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON"},
    {"keys", OPTION_FLAG, offsetof(values, keys),
     .help = "list the keys of a configuration instead"},
    {0}};

/* The rows for a model that is not in the paper: mixers, and their settings. */
static const paper_count our_rows[] = {
    {"none", "", 0}, {"ssm2d", "", 0}, {"ssm2d", "values=polar", 0}, {0}};

/* One row of the table: a model with a mixer. */
typedef struct row {
    model_config config;
    char mixer[128];
    size_t parameters;
    double paper; /* in millions; 0: not in the paper */
} row;

static ssm2d_status row_of(ssm2d_context *context, const model *m, const paper_count *variant,
                           row *out, ssm2d_error *error)
{
    weights *w;
    model_config *c = &out->config;
    ssm2d_status status = model_config_named(m->name, c, error);
    if (!status) status = model_config_use_mixer(c, mixer_find(variant->mixer), error);
    if (!status) status = mixer_config_preset(variant->settings, &c->mixer, error);
    if (status) return status;
    if (m->paper_classes) c->classes = m->paper_classes;
    if ((status = model_config_finish(c, error))) return status;
    if ((status = weights_create(context, c, &w, error))) return status;
    out->parameters = w->learned;
    out->paper = variant->millions;
    mixer_config_text(&c->mixer, out->mixer, sizeof out->mixer);
    weights_destroy(w);
    return SSM2D_OK;
}

static void print_row(const row *r)
{
    static const char *const keys[] = {"patch", "dim", "depth", "heads"};
    char size[32], paper[16] = "-", text[32];
    const model_config *c = &r->config;
    snprintf(size, sizeof size, "%dx%d", c->image[0], c->image[1]);
    if (r->paper > 0) snprintf(paper, sizeof paper, r->paper < 3 ? "%.2f M" : "%.3f M", r->paper);
    printf("%-10s %-9s", c->model->name, size);
    for (int i = 0; i < 4; i++) printf(" %5s", model_config_text(c, keys[i], text, sizeof text));
    printf(" %8d %12zu %10s  %s\n", c->classes, r->parameters, paper, r->mixer);
}

static int add_json(cJSON *list, const row *r, int is_complex)
{
    const model_config *c = &r->config;
    cJSON *entry = cJSON_CreateObject(), *config = model_config_to_json(c);
    int good = entry && config && cJSON_AddStringToObject(entry, "model", c->model->name)
               && cJSON_AddStringToObject(entry, "mixer", c->mixer.kind->name)
               && cJSON_AddBoolToObject(entry, "complex", is_complex)
               && cJSON_AddNumberToObject(entry, "parameters", (double)r->parameters)
               && (r->paper > 0 ? cJSON_AddNumberToObject(entry, "paper_millions", r->paper)
                                : cJSON_AddNullToObject(entry, "paper_millions"));
    if (!good) cJSON_Delete(config);
    if (good && json_add(entry, "config", config)) return json_add(list, NULL, entry);
    cJSON_Delete(entry);
    return 0;
}

/* The keys of a model of each family, and those of each mixer. */
static ssm2d_status print_keys(ssm2d_error *error)
{
    char key[MODEL_KEY];
    const char *help, *name;
    const model *m;
    const model_family *last = NULL;
    for (int i = 0; (m = model_at(i)); i++) {
        model_config c;
        if (m->family == last) continue;
        last = m->family;
        ssm2d_status status = model_config_named(m->name, &c, error);
        if (status) return status;
        printf("%skeys of a model of the family %s:\n\n", i ? "\n" : "", m->family->name);
        for (int k = 0; model_config_key(&c, k, key, &help); k++) printf("%-24s%s\n", key, help);
    }
    for (int i = 0; mixer_at(i); i++) {
        mixer_config c;
        if (!mixer_at(i)->fields) continue;
        mixer_config_default(mixer_at(i), &c);
        printf("\nkeys of the mixer %s, %s:\n\n", c.kind->name, c.kind->help);
        for (int k = 0; mixer_config_key(&c, k, &name, &help); k++) {
            snprintf(key, sizeof key, "mixer.%s", name);
            printf("%-24s%s\n", key, help);
        }
    }
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    ssm2d_status status = SSM2D_OK;
    cJSON *list = cJSON_CreateArray();
    if (o->keys) {
        status = print_keys(error);
        goto done;
    }
    if (!list) goto no_memory;
    if (!o->json)
        printf("%-10s %-9s %5s %5s %5s %5s %8s %12s %10s  %s\n", "model", "image", "patch", "dim",
               "depth", "heads", "classes", "parameters", "the paper", "mixer");
    const model *m;
    for (int i = 0; (m = model_at(i)); i++) {
        for (const paper_count *p = m->paper ? m->paper : our_rows; p->mixer; p++) {
            row r;
            if ((status = row_of(context, m, p, &r, error))) goto done;
            if (!o->json)
                print_row(&r);
            else if (!add_json(list, &r, strstr(p->settings, "values=") != NULL))
                goto no_memory;
        }
    }
    if (o->json) {
        char *text = cJSON_Print(list);
        if (!text) goto no_memory;
        puts(text);
        cJSON_free(text);
    }
    goto done;
no_memory:
    status = fail(error, SSM2D_ERROR_MEMORY, "no memory for a table");
done:
    cJSON_Delete(list);
    return status;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (o->json && o->keys)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--json and --keys cannot be combined");
    return SSM2D_OK;
}

static const char about[] =
    "Lists every model, plain and with the 2-D SSM (real, complex), with its number of "
    "parameters beside the number in the paper. Classes and image sizes are the paper's. A "
    "configuration may change them; --keys lists its keys.";

const command command_models = {
    "models", "list models and their numbers of parameters", about, options, check_values, run, 0};
