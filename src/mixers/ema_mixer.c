/* ema_mixer - EMA, the moving average of Mega over patches in raster order, as a mixer. */
#include "baselines/baseline_fields.h"
#include "mixers/baseline_mixer.h"
#include "ops/ops.h"

_Static_assert(sizeof(ssm2d_ema_config) <= MIXER_OWN, "MIXER_OWN is too small");

/* All of the layer's but `channels`, which comes first. */
static const field_group fields[] = {{&ema_fields[1], 0}, {NULL, 0}};

static ssm2d_ema_config layer_of(const void *own, int channels)
{
    ssm2d_ema_config layer = *(const ssm2d_ema_config *)own;
    layer.base = (ssm2d_baseline_config){sizeof layer, SSM2D_EMA, channels};
    return layer;
}

static ssm2d_status check(const void *own, int channels, ssm2d_error *error)
{
    const ssm2d_ema_config layer = layer_of(own, channels);
    return ssm2d_baseline_config_check(&layer.base, error);
}

static ssm2d_status fill(const void *own, int channels, uint64_t seed, float *values,
                         ssm2d_error *error)
{
    const ssm2d_ema_config layer = layer_of(own, channels);
    return ssm2d_baseline_params_init(&layer.base, SSM2D_INIT_AUTHORS, seed, SSM2D_FLOAT, values,
                                      error);
}

static tensor *params(graph *g, const mixer_config *m, int channels, token_grid grid,
                      const char *block)
{
    const ssm2d_ema_config layer = layer_of(m->own, channels);
    const param_block b = {.fill = fill, .owner = m->own, .channels = channels};
    return baseline_mixer_params(g, &layer.base, b, grid, block);
}

static tensor *apply(graph *g, tensor *x, tensor *values, const mixer_config *m)
{
    const ssm2d_ema_config layer = layer_of(m->own, (int)x->shape[x->rank - 1]);
    return mix_ema(g, x, values, &layer, x->grid.first, x->grid.rows, x->grid.cols);
}

static int kernels(const void *own, int channels)
{
    (void)own;
    return channels;
}

/* Wherever two cells are, (di, dj) apart they are di*cols + dj apart in raster order. */
static double weight(const ssm2d_baseline_config *config, const float *k, const size_t shape[3],
                     int h, int rows, int cols, int di, int dj)
{
    const ssm2d_ema_config *c = (const ssm2d_ema_config *)(const void *)config;
    const ptrdiff_t taps = (ptrdiff_t)shape[1], lag = -((ptrdiff_t)di * cols + dj);
    const ptrdiff_t back = -lag - (c->shift ? 1 : 0);
    double sum = 0;
    (void)rows;
    if (lag >= 0 && lag < taps) sum += (double)k[h * taps + lag];
    if (c->bidirectional && back >= 0 && back < taps)
        sum += (double)k[(config->channels + h) * taps + back];
    return sum;
}

static ssm2d_status kernel(ssm2d_context *context, const void *own, int channels, int rows,
                           int cols, const float *values, int count, double *out,
                           ssm2d_error *error)
{
    const ssm2d_ema_config layer = layer_of(own, channels);
    return baseline_mixer_kernel(context, &layer.base, rows, cols, values, count, weight, out,
                                 error);
}

const mixer mixer_ema = {.name = "ema",
                         .help = "EMA, the moving average of Mega, in raster order",
                         .own_size = sizeof(ssm2d_ema_config),
                         .fields = fields,
                         .check = check,
                         .params = params,
                         .apply = apply,
                         .kernels = kernels,
                         .kernel = kernel};
