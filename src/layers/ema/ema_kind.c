/* ema_kind - settings and parameters of EMA. Rows [0, H) of alpha, delta, beta and gamma look
 * forward; [H, 2*H), if bidirectional, backward. */
#include "layers/ema/ema_plan.h"

enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 12, MAX_TRUNC = 1 << 30 };

#define PLACE(name) offsetof(ema_config, name)

static const ssm2d_field fields[] = {
    {"channels", "channels of the input, each filtered by itself", SSM2D_KIND_INT, PLACE(channels),
     1, MAX_CHANNELS, NULL, NULL, NULL},
    {"d_state", "decays of each channel", SSM2D_KIND_INT, PLACE(d_state), 1, MAX_STATE, "16", NULL,
     NULL},
    {"bidirectional", "a second average looks back from the end", SSM2D_KIND_FLAG,
     PLACE(bidirectional), 0, 1, "true", NULL, NULL},
    {"shift", "the second average starts at the next cell, so that none counts twice",
     SSM2D_KIND_FLAG, PLACE(shift), 0, 1, "true", NULL, NULL},
    {"trunc", "cuts kernels to this many cells; 0: all", SSM2D_KIND_INT, PLACE(trunc), 0, MAX_TRUNC,
     "0", NULL, NULL},
    {0}};

enum { ALPHA, DELTA, BETA, GAMMA, OMEGA };

static int arrays(const void *config, layer_array *table)
{
    const ema_config *c = config;
    const size_t N = (size_t)c->d_state, H = (size_t)c->channels;
    const size_t rows = c->bidirectional ? 2 * H : H;
    table[ALPHA] = LAYER_ARRAY("alpha", ALPHA, rows, N, 1);
    table[DELTA] = LAYER_ARRAY("delta", DELTA, rows, N, 1);
    table[BETA] = LAYER_ARRAY("beta", BETA, rows, N, 1);
    table[GAMMA] = LAYER_ARRAY("gamma", GAMMA, rows, N);
    table[OMEGA] = LAYER_ARRAY("omega", OMEGA, H);
    for (int i = ALPHA; i < OMEGA; i++) table[i].param.system = 1;
    table[OMEGA].param.decay = table[OMEGA].param.decay_paper = 1;
    return 5;
}

static double draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    const ema_config *c = config;
    switch (array->draw) {
    case ALPHA:
    case DELTA: return 0.2 * rng_normal(r);
    case BETA: return 0.02 * rng_normal(r) + (k % (size_t)c->d_state % 2 ? -1 : 1);
    default: return rng_normal(r);
    }
}

static void begin(ssm2d_plan *plan, const void *config)
{
    ((ema_plan *)plan)->config = *(const ema_config *)config;
}

static int pictures(const void *config) { return ((const ema_config *)config)->channels; }

/* Wherever two cells are, (di, dj) apart they are di*cols + dj apart in raster order. */
static double weight(const ema_config *c, const float *k, ptrdiff_t taps, int h, ptrdiff_t lag)
{
    const ptrdiff_t back = -lag - (c->shift ? 1 : 0);
    double sum = 0;
    if (lag >= 0 && lag < taps) sum += (double)k[h * taps + lag];
    if (c->bidirectional && back >= 0 && back < taps)
        sum += (double)k[(c->channels + h) * taps + back];
    return sum;
}

static void picture(const void *config, const float *kernels, const size_t *shape, int h, int rows,
                    int cols, double *out)
{
    for (int di = 1 - rows; di < rows; di++)
        for (int dj = 1 - cols; dj < cols; dj++)
            *out++ = weight(config, kernels, (ptrdiff_t)shape[1], h, -((ptrdiff_t)di * cols + dj));
}

static int ends_with_silu(const void *config)
{
    (void)config;
    return 1;
}

static const layer_convolution convolution = {.skip = "omega", .silu = ends_with_silu};

const layer_kind layer_ema = {.name = "ema",
                              .help = "EMA, the moving average of Mega, in raster order",
                              .config_size = sizeof(ema_config),
                              .fields = fields,
                              .plan_size = sizeof(ema_plan),
                              .axes = 1U << 1 | 1U << 2 | 1U << 3,
                              .raster = 1,
                              .arrays = arrays,
                              .draw = draw,
                              .begin = begin,
                              .functions = {&ema_functions_table_f32, &ema_functions_table_f64},
                              .pictures = pictures,
                              .picture = picture,
                              .convolution = &convolution};
