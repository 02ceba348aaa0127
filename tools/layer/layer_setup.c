#include "layer_setup.h"

#include "core/context.h"
#include "core/status.h"
#include "io/json.h"
#include "io/layer_config.h"
#include "io/text.h"
#include "tools/command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const init_names[] = {
    [SSM2D_INIT_IDENTITY] = "identity", [SSM2D_INIT_AUTHORS] = "authors", NULL};

const char *layer_init_name(int i) { return init_names[i]; }

static int init_by_name(const char *name)
{
    int i = 0;
    while (init_names[i] && strcmp(init_names[i], name)) i++;
    return init_names[i] ? i : -1;
}

layer_setup layer_setup_default(void)
{
    return (layer_setup){ssm2d_config_default(), SSM2D_INIT_IDENTITY, 0};
}

ssm2d_status layer_setup_read(const ssm2d_context *context, const char *path, layer_setup *setup,
                              ssm2d_error *error)
{
    static const char *const others[] = {"init", "seed", NULL};
    const char *init = init_names[setup->init];
    char shown[40];
    int seed = (int)setup->seed;
    cJSON *root = NULL;
    ssm2d_status status = json_read(context, path, &root, error);
    if (status) return status;
    if ((status = layer_config_from_json(path, root, others, &setup->config, error))) goto done;
    if ((status = json_get_int(path, root, "seed", JSON_OPTIONAL, 0, INT_MAX, &seed, error)))
        goto done;
    if ((status = json_get_string(path, root, "init", JSON_OPTIONAL, &init, error))) goto done;
    if (init_by_name(init) < 0) {
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"init\" is \"%s\": use identity or authors",
                 text_path(path), text_show(init, strlen(init), shown, sizeof shown));
        goto done;
    }
    setup->init = (ssm2d_init)init_by_name(init);
    setup->seed = (uint64_t)seed;
done:
    cJSON_Delete(root);
    return status;
}

void layer_setup_override(layer_setup *setup, long seed, const char *init)
{
    if (seed != OPTION_UNSET) setup->seed = (uint64_t)seed;
    if (init) setup->init = (ssm2d_init)init_by_name(init);
}

ssm2d_status layer_setup_params(const ssm2d_context *context, const layer_setup *setup,
                                double **params, ssm2d_error *error)
{
    ssm2d_status status = ssm2d_config_check(&setup->config, error);
    *params = NULL;
    if (status) return status;
    size_t count = ssm2d_param_total(&setup->config);
    double *p = mem_alloc(context, count * sizeof *p);
    if (!p) return fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu parameters", count);
    status = ssm2d_params_init(&setup->config, setup->init, setup->seed, SSM2D_DOUBLE, p, error);
    if (status)
        mem_free(context, p);
    else
        *params = p;
    return status;
}

const char *layer_field_text(const ssm2d_config *config, const char *field, char *text, size_t size)
{
    const ssm2d_field *f = field_find(ssm2d_config_fields(NULL), field);
    text[0] = 0;
    return f ? field_print(f, config, text, size) : text;
}
