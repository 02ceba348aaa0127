#include "layer_setup.h"

#include "core/context.h"
#include "core/status.h"
#include "io/json.h"
#include "mixers/layer_json.h"
#include "tools/command.h"

#include <limits.h>
#include <string.h>

const char *layer_init_name(int i) { return layer_init_names[i]; }

layer_setup layer_setup_default(void) { return (layer_setup){ssm2d_config_default(), 0}; }

ssm2d_status layer_setup_read(const ssm2d_context *context, const char *path, layer_setup *setup,
                              ssm2d_error *error)
{
    static const char *const others[] = {"seed", NULL};
    int seed = (int)setup->seed;
    cJSON *root = NULL;
    ssm2d_status status = json_read(context, path, &root, error);
    if (status) return status;
    ssm2d_layer layer = layer_file_default(&layer_ssm2d);
    status = layer_from_json(path, root, others, &layer, error);
    if (!status) status = json_get_int(path, root, "seed", JSON_OPTIONAL, 0, INT_MAX, &seed, error);
    if (!status) *setup = (layer_setup){*ssm2d_config_of(&layer.values), (uint64_t)seed};
    cJSON_Delete(root);
    return status;
}

void layer_setup_override(layer_setup *setup, long seed, const char *init)
{
    if (seed != OPTION_UNSET) setup->seed = (uint64_t)seed;
    for (int i = 0; init && layer_init_names[i]; i++)
        if (!strcmp(init, layer_init_names[i])) setup->config.init = (layer_init)i;
}

ssm2d_status layer_setup_params(const ssm2d_context *context, const layer_setup *setup,
                                double **params, ssm2d_error *error)
{
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &setup->config);
    const ssm2d_status status = layer_check(&layer, error);
    *params = NULL;
    if (status) return status;
    const size_t count = ssm2d_layer_param_count(&layer);
    *params = mem_alloc(context, count * sizeof **params);
    if (!*params) return fail_memory(error, "%zu parameters", count);
    return ssm2d_params_init_double(&layer, setup->seed, *params, error);
}
