/* layer_s4nd - cases of S4ND. Arrays are channel-first, (batch, channels, rows, columns). */
#include "layer_baseline.h"

#include <string.h>

static ssm2d_status read(const char *path, const cJSON *root, layer_case *c, ssm2d_error *error)
{
    static const char *const sizes[] = {"L1", "L2", NULL};
    c->config.s4nd = ssm2d_s4nd_config_default();
    ssm2d_status status = layer_case_size(path, root, "batch", &c->batch, error);
    if (!status) status = layer_case_size(path, root, "L1", &c->rows, error);
    if (!status) status = layer_case_size(path, root, "L2", &c->cols, error);
    return status ? status : layer_baseline_read(path, root, sizes, c, error);
}

static int grid(const layer_case *c, size_t shape[4], ssm2d_strides *strides)
{
    const size_t sizes[4] = {c->batch, (size_t)c->config.base.channels, c->rows, c->cols};
    const ptrdiff_t cells = (ptrdiff_t)(c->rows * c->cols);
    memcpy(shape, sizes, sizeof sizes);
    *strides = (ssm2d_strides){c->config.base.channels * cells, (ptrdiff_t)c->cols, 1, cells};
    return 4;
}

static int kernel(const layer_case *c, size_t shape[4])
{
    shape[0] = (size_t)c->config.s4nd.n_ssm;
    shape[1] = 2 * c->rows - 1;
    shape[2] = 2 * c->cols - 1;
    return 3;
}

const layer_kind layer_kind_s4nd = {.name = "s4nd",
                                    .read = read,
                                    .array = layer_baseline_array,
                                    .grid = grid,
                                    .kernel = kernel,
                                    .check = layer_baseline_check,
                                    .run = layer_baseline_run};
