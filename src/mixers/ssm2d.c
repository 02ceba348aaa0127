/* ssm2d - the 2-D state-space layer as a mixer. */
#include "mixers/mixer.h"
#include "ops/ops.h"

static ssm2d_config layer_of(const mixer_config *m, int channels)
{
    ssm2d_config layer = m->layer;
    layer.channels = channels;
    return layer;
}

static tensor *apply(graph *g, tensor *x, tensor *params, const mixer_config *m, int first,
                     int rows, int cols)
{
    const ssm2d_config layer = layer_of(m, (int)x->shape[x->rank - 1]);
    return mix_ssm2d(g, x, params, &layer, first, rows, cols);
}

static int array(const mixer_config *m, int channels, int i, ssm2d_param *param)
{
    const ssm2d_config layer = layer_of(m, channels);
    return ssm2d_param_get(&layer, i, param);
}

static ssm2d_status init(const mixer_config *m, int channels, uint64_t seed, float *params,
                         ssm2d_error *error)
{
    const ssm2d_config layer = layer_of(m, channels);
    return ssm2d_params_init(&layer, m->init, seed, SSM2D_FLOAT, params, error);
}

const mixer mixer_ssm2d = {"ssm2d", "the 2-D state-space layer", array, init, apply};
