/* diagonal_config - settings, parameters and initial values that ss2d, mamba2d and scan2d share. */
#include "core/status.h"
#include "layers/scan/diagonal_plan.h"

#include <math.h>
#include <string.h>

/* Arrays of each gate, by the number of gates. */
static const char *const names[2][2][3] = {
    {{"dt_proj", "dt_bias", "A_log"}},
    {{"dt_projT", "dt_biasT", "AT_log"}, {"dt_projL", "dt_biasL", "AL_log"}}};

ssm2d_status diagonal_check(const void *config, ssm2d_error *error)
{
    const diagonal_config *c = config;
    if (c->dt_rank > c->channels)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "dt_rank=%d: is larger than channels=%d; use at most that, or 0", c->dt_rank,
                    c->channels);
    return SSM2D_OK;
}

/* The inverse of log(1 + exp(x)) of a step from 0.001 to 0.1. */
double diagonal_draw_bias(rng *r)
{
    const double step = exp(rng_uniform(r, log(0.001), log(0.1)));
    return step + log(-expm1(-step));
}

double diagonal_draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    const diagonal_config *c = config;
    const double in = 1 / sqrt(c->channels), rank = 1 / sqrt(diagonal_rank(c));
    switch (array->draw) {
    case DIAGONAL_X_PROJ: return rng_uniform(r, -in, in);
    case DIAGONAL_DT_PROJ: return rng_uniform(r, -rank, rank);
    case DIAGONAL_DT_BIAS: return diagonal_draw_bias(r);
    case DIAGONAL_A_LOG: return log((double)(k % (size_t)c->d_state) + 1);
    case DIAGONAL_ONE: return 1;
    default: return 0;
    }
}

layer_array diagonal_system(layer_array array)
{
    array.param.system = 1;
    return array;
}

static layer_array weight(layer_array array)
{
    array.param.decay = array.param.decay_paper = 1;
    return array;
}

int diagonal_arrays(const void *config, int gates, layer_array *table)
{
    const diagonal_config *c = config;
    const size_t K = (size_t)c->directions, H = (size_t)c->channels, N = (size_t)c->d_state,
                 R = (size_t)diagonal_rank(c);
    const size_t G = (size_t)gates;
    int n = 0;
    table[n++] = weight(LAYER_ARRAY("x_proj", DIAGONAL_X_PROJ, K, G * (R + N) + N, H));
    for (int g = 0; g < gates; g++) {
        table[n++] = weight(LAYER_ARRAY(names[gates - 1][g][0], DIAGONAL_DT_PROJ, K, H, R));
        table[n++] = diagonal_system(LAYER_ARRAY(names[gates - 1][g][1], DIAGONAL_DT_BIAS, K, H));
        table[n++] = diagonal_system(LAYER_ARRAY(names[gates - 1][g][2], DIAGONAL_A_LOG, K, H, N));
    }
    table[n++] = LAYER_ARRAY("D", DIAGONAL_ONE, K, H);
    if (!c->normalize) return n;
    table[n] = LAYER_ARRAY("gamma", DIAGONAL_ONE, H);
    table[n++].param.decay = 1;
    table[n++] = LAYER_ARRAY("beta", DIAGONAL_ZERO, H);
    return n;
}

size_t diagonal_offset(const ssm2d_layer *layer, const char *name)
{
    ssm2d_param p;
    for (int i = 0; ssm2d_layer_param(layer, i, &p); i++)
        if (!strcmp(p.name, name)) return p.offset;
    return SIZE_MAX;
}

void diagonal_begin(diagonal_plan *p, const ssm2d_layer *layer, int gates)
{
    const diagonal_config *c = layer_config(layer);
    const int R = diagonal_rank(c), N = c->d_state;
    p->walks = c->directions;
    p->gates = p->sources = gates;
    p->states = N;
    p->ranks = R;
    for (int g = 0; g < gates; g++) {
        p->w[g] = diagonal_offset(layer, names[gates - 1][g][0]);
        p->bias[g] = diagonal_offset(layer, names[gates - 1][g][1]);
        p->rate[g] = diagonal_offset(layer, names[gates - 1][g][2]);
    }
    p->d = diagonal_offset(layer, "D");
    p->gain = 1;
    p->layer_norm = c->normalize;
    p->norm.gamma = diagonal_offset(layer, "gamma");
    p->norm.beta = diagonal_offset(layer, "beta");
    p->scan.projection.maps = c->directions;
    p->scan.projection.columns = gates * (R + N) + N;
    p->scan.projection.segments = 1;
    p->scan.projection.segment[0] =
        (scan_segment){diagonal_offset(layer, "x_proj"), p->scan.projection.columns};
    for (int k = 0; k < c->directions; k++) {
        diagonal_walk *w = &p->walk[k];
        w->map = k;
        w->rank_step = 1;
        for (int g = 0; g < gates; g++) {
            w->rank[g] = g * R;
            w->b[g] = gates * R + g * N;
        }
        w->c = gates * (R + N);
    }
}
