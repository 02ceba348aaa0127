/* ssm2d models - every model by name, plain and with the 2-D SSM: how many parameters it has,
 * beside what the paper prints. */
#include "command.h"
#include "core/status.h"
#include "models/weights.h"

#include <stdio.h>

typedef struct values {
    int json, keys;
} values;

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON"},
    {"keys", OPTION_FLAG, offsetof(values, keys),
     .help = "print the keys of a configuration instead"},
    {0}};

/* The rows of each model, in the order of model.paper. */
static const struct {
    const char *mixer, *label;
    ssm2d_values numbers;
} variants[] = {{"none", "none", SSM2D_REAL},
                {"ssm2d", "ssm2d real", SSM2D_REAL},
                {"ssm2d", "ssm2d complex", SSM2D_POLAR}};

enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct row {
    model_config config;
    size_t parameters;
} row;

static ssm2d_status row_of(ssm2d_context *context, const model *m, int variant, row *out,
                           ssm2d_error *error)
{
    weights *w;
    ssm2d_status status = model_config_named(m->name, &out->config, error);
    if (status) return status;
    if (m->paper_classes) out->config.classes = m->paper_classes;
    out->config.mixer.kind = mixer_find(variants[variant].mixer);
    out->config.mixer.layer.values = variants[variant].numbers;
    if ((status = model_config_finish(&out->config, error))) return status;
    if ((status = weights_create(context, &out->config, &w, error))) return status;
    out->parameters = w->total;
    weights_destroy(w);
    return SSM2D_OK;
}

static void print_row(const model *m, int variant, const row *r)
{
    char size[32], paper[16] = "-";
    const model_config *c = &r->config;
    snprintf(size, sizeof size, "%dx%d", c->image[0], c->image[1]);
    if (m->paper_classes)
        snprintf(paper, sizeof paper, m->paper[0] < 3 ? "%.2f M" : "%.3f M", m->paper[variant]);
    printf("%-10s %-14s %-9s %5d %5d %5d %5d %8d %12zu %10s\n", m->name, variants[variant].label,
           size, c->patch, c->dim, c->depth, c->heads, c->classes, r->parameters, paper);
}

static int add_json(cJSON *list, const model *m, int variant, const row *r)
{
    cJSON *entry = cJSON_CreateObject(), *config = model_config_to_json(&r->config);
    int good =
        entry && config && cJSON_AddStringToObject(entry, "model", m->name)
        && cJSON_AddStringToObject(entry, "mixer", variants[variant].mixer)
        && cJSON_AddBoolToObject(entry, "complex", variants[variant].numbers != SSM2D_REAL)
        && cJSON_AddNumberToObject(entry, "parameters", (double)r->parameters)
        && (m->paper_classes ? cJSON_AddNumberToObject(entry, "paper_millions", m->paper[variant])
                             : cJSON_AddNullToObject(entry, "paper_millions"));
    if (good && cJSON_AddItemToObject(entry, "config", config)) {
        config = NULL;
        if (cJSON_AddItemToArray(list, entry)) return 1;
    }
    cJSON_Delete(config);
    cJSON_Delete(entry);
    return 0;
}

static void print_keys(void)
{
    char key[64];
    const char *help;
    for (int i = 0; model_config_key(i, key, sizeof key, &help); i++)
        printf("%-24s%s\n", key, help);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    ssm2d_status status = SSM2D_OK;
    cJSON *list = cJSON_CreateArray();
    if (o->keys) {
        print_keys();
        goto done;
    }
    if (!list) goto no_memory;
    if (!o->json)
        printf("%-10s %-14s %-9s %5s %5s %5s %5s %8s %12s %10s\n", "model", "mixer", "image",
               "patch", "dim", "depth", "heads", "classes", "parameters", "the paper");
    const model *m;
    for (int i = 0; (m = model_at(i)); i++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            row r;
            if ((status = row_of(context, m, variant, &r, error))) goto done;
            if (!o->json)
                print_row(m, variant, &r);
            else if (!add_json(list, m, variant, &r))
                goto no_memory;
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
        return fail(error, SSM2D_ERROR_ARGUMENT, "--json and --keys do not go together");
    return SSM2D_OK;
}

static const char about[] = "Lists every model, plain and with the 2-D SSM (real, complex), with "
                            "its number of parameters, beside the number that the "
                            "paper "
                            "prints. Classes and sizes are the paper's; any of them may be changed "
                            "in a configuration, whose keys --keys lists.";

const command command_models = {
    "models", "list models and their numbers of parameters", about, options, check_values, run, 0};
