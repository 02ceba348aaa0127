/* s4nd_mixer - S4ND, the separable state-space layer, as a mixer. */
#include "mixers/s4nd_mixer.h"

#include "baselines/baseline_fields.h"
#include "mixers/baseline_mixer.h"
#include "ops/ops.h"

_Static_assert(sizeof(s4nd_mixer) <= MIXER_OWN, "MIXER_OWN is too small");

static const char *const init_names[] = {
    [SSM2D_INIT_IDENTITY] = "identity", [SSM2D_INIT_AUTHORS] = "authors", NULL};

static const ssm2d_field own_fields[] = {
    {"init", "initial values: identity (close to no mixer), or authors (as published)",
     SSM2D_KIND_CHOICE, offsetof(s4nd_mixer, init), 0, 1, "authors", init_names, NULL},
    {0}};

/* All of the layer's but `channels`, which comes first. */
static const field_group fields[] = {
    {own_fields, 0}, {&s4nd_fields[1], offsetof(s4nd_mixer, layer)}, {NULL, 0}};

static ssm2d_s4nd_config layer_of(const void *own, int channels)
{
    ssm2d_s4nd_config layer = ((const s4nd_mixer *)own)->layer;
    layer.base = (ssm2d_baseline_config){sizeof layer, SSM2D_S4ND, channels};
    return layer;
}

static ssm2d_status check(const void *own, int channels, ssm2d_error *error)
{
    const ssm2d_s4nd_config layer = layer_of(own, channels);
    return ssm2d_baseline_config_check(&layer.base, error);
}

static ssm2d_status fill(const void *own, int channels, uint64_t seed, float *values,
                         ssm2d_error *error)
{
    const ssm2d_s4nd_config layer = layer_of(own, channels);
    return ssm2d_baseline_params_init(&layer.base, (ssm2d_init)((const s4nd_mixer *)own)->init,
                                      seed, SSM2D_FLOAT, values, error);
}

static tensor *params(graph *g, const mixer_config *m, int channels, token_grid grid,
                      const char *block)
{
    const ssm2d_s4nd_config layer = layer_of(m->own, channels);
    const param_block b = {.fill = fill, .owner = m->own, .channels = channels};
    return baseline_mixer_params(g, &layer.base, b, grid, block);
}

static tensor *apply(graph *g, tensor *x, tensor *values, const mixer_config *m)
{
    const ssm2d_s4nd_config layer = layer_of(m->own, (int)x->shape[x->rank - 1]);
    return mix_s4nd(g, x, values, &layer, x->grid.first, x->grid.rows, x->grid.cols);
}

static int kernels(const void *own, int channels)
{
    const int systems = ((const s4nd_mixer *)own)->layer.n_ssm;
    return systems < channels ? systems : channels;
}

/* Kernels are by offsets of the output from the input. */
static double weight(const ssm2d_baseline_config *config, const float *k, const size_t shape[3],
                     int h, int rows, int cols, int di, int dj)
{
    (void)config;
    const size_t s = (size_t)h % shape[0], i = (size_t)(rows - 1 - di), j = (size_t)(cols - 1 - dj);
    return (double)k[(s * shape[1] + i) * shape[2] + j];
}

static ssm2d_status kernel(ssm2d_context *context, const void *own, int channels, int rows,
                           int cols, const float *values, int count, double *out,
                           ssm2d_error *error)
{
    const ssm2d_s4nd_config layer = layer_of(own, channels);
    return baseline_mixer_kernel(context, &layer.base, rows, cols, values, count, weight, out,
                                 error);
}

const mixer mixer_s4nd = {.name = "s4nd",
                          .help = "S4ND, the separable state-space layer",
                          .own_size = sizeof(s4nd_mixer),
                          .fields = fields,
                          .check = check,
                          .params = params,
                          .apply = apply,
                          .kernels = kernels,
                          .kernel = kernel};
