/* layer_ema - cases of EMA. Arrays are (cells, batch, channels), as Mega has sequences. */
#include "layer_baseline.h"

static ssm2d_status read(const char *path, const cJSON *root, layer_case *c, ssm2d_error *error)
{
    static const char *const sizes[] = {"L", NULL};
    c->config.ema = ssm2d_ema_config_default();
    c->rows = 1;
    ssm2d_status status = layer_case_size(path, root, "batch", &c->batch, error);
    if (!status) status = layer_case_size(path, root, "L", &c->cols, error);
    return status ? status : layer_baseline_read(path, root, sizes, c, error);
}

static int grid(const layer_case *c, size_t shape[4], ssm2d_strides *strides)
{
    const ptrdiff_t H = c->config.base.channels, cell = (ptrdiff_t)c->batch * H;
    shape[0] = c->cols;
    shape[1] = c->batch;
    shape[2] = (size_t)H;
    *strides = (ssm2d_strides){H, (ptrdiff_t)c->cols * cell, cell, 1};
    return 3;
}

static int kernel(const layer_case *c, size_t shape[4])
{
    const ssm2d_ema_config *e = &c->config.ema;
    const size_t trunc = (size_t)e->trunc;
    shape[0] = (size_t)e->base.channels * (e->bidirectional ? 2 : 1);
    shape[1] = trunc && trunc < c->cols ? trunc : c->cols;
    return 2;
}

const layer_kind layer_kind_ema = {.name = "ema",
                                   .read = read,
                                   .array = layer_baseline_array,
                                   .grid = grid,
                                   .kernel = kernel,
                                   .check = layer_baseline_check,
                                   .run = layer_baseline_run};
