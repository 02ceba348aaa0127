#include "mixers/baseline_mixer.h"

#include "core/context.h"
#include "core/status.h"

#include <string.h>

enum { MAX_ARRAYS = 8 };

tensor *baseline_mixer_params(graph *g, const ssm2d_baseline_config *config, param_block b,
                              token_grid grid, const char *block)
{
    param_spec specs[MAX_ARRAYS];
    ssm2d_baseline_param p;
    ssm2d_error error;
    int count = 0;
    if (ssm2d_baseline_config_check(config, &error)) return graph_fail(g, "mixer: %s", error.line);
    b.grid = grid;
    strncpy(b.name, block, sizeof b.name - 1);
    for (; ssm2d_baseline_param_get(config, count, &p); count++) {
        param_spec *s = &specs[count];
        *s = (param_spec){.name = p.name, .rank = p.rank, .part = PARAM_MIXER};
        memcpy(s->shape, p.shape, (size_t)p.rank * sizeof *p.shape);
        s->group = p.system ? PARAM_SYSTEM : p.decay ? PARAM_DECAY : PARAM_NO_DECAY;
        s->init = PARAM_BY_BLOCK;
    }
    return graph_param_block(g, &b, count, specs);
}

ssm2d_status baseline_mixer_kernel(ssm2d_context *context, const ssm2d_baseline_config *config,
                                   int rows, int cols, const float *params, int count,
                                   baseline_weight *weight, double *out, ssm2d_error *error)
{
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_baseline_plan *plan = NULL;
    ssm2d_baseline_workspace *workspace = NULL;
    float *kernels = NULL;
    size_t shape[3], numbers = 1;
    options.rows = (size_t)rows;
    options.cols = (size_t)cols;
    options.inference = 1;
    ssm2d_status status = ssm2d_baseline_plan_create(context, config, &options, &plan, error);
    if (!status) status = ssm2d_baseline_workspace_create(plan, &workspace, error);
    if (status) goto done;
    const int rank = ssm2d_baseline_kernel_shape(plan, shape);
    for (int i = 0; i < rank; i++) numbers *= shape[i];
    kernels = mem_alloc(context, numbers * sizeof *kernels);
    if (!kernels) {
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for kernels");
        goto done;
    }
    ssm2d_baseline_kernel(plan, workspace, params, kernels);
    for (int h = 0; h < count; h++)
        for (int di = 1 - rows; di < rows; di++)
            for (int dj = 1 - cols; dj < cols; dj++)
                *out++ = weight(config, kernels, shape, h, rows, cols, di, dj);
done:
    mem_free(context, kernels);
    ssm2d_baseline_workspace_destroy(workspace);
    ssm2d_baseline_plan_destroy(plan);
    return status;
}
