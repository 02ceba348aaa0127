/* none - the plain model: tokens pass unchanged. */
#include "mixers/mixer.h"

static int array(const mixer_config *m, int channels, int i, ssm2d_param *param)
{
    (void)m, (void)channels, (void)i, (void)param;
    return 0;
}

static ssm2d_status init(const mixer_config *m, int channels, uint64_t seed, float *params,
                         ssm2d_error *error)
{
    (void)m, (void)channels, (void)seed, (void)params, (void)error;
    return SSM2D_OK;
}

static tensor *apply(graph *g, tensor *x, tensor *params, const mixer_config *m, int first,
                     int rows, int cols)
{
    (void)g, (void)params, (void)m, (void)first, (void)rows, (void)cols;
    return x;
}

const mixer mixer_none = {"none", "the plain model", array, init, apply};
