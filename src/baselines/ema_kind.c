/* ema_kind - configuration and parameters of EMA. Rows [0, H) of alpha, delta, beta and gamma look
 * forward; [H, 2*H), if bidirectional, backward. */
#include "baselines/baseline.h"
#include "baselines/baseline_fields.h"

enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 12, MAX_TRUNC = 1 << 30 };

#define PLACE(name) offsetof(ssm2d_ema_config, name)

const ssm2d_field ema_fields[] = {
    {"channels", "channels of the input, each filtered by itself", SSM2D_KIND_INT,
     PLACE(base.channels), 1, MAX_CHANNELS, NULL, NULL, NULL},
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

static int list(const baseline_config *c, ssm2d_baseline_param *table)
{
    const size_t N = (size_t)c->ema.d_state, H = (size_t)c->base.channels;
    const size_t rows = c->ema.bidirectional ? 2 * H : H;
    table[ALPHA] = BASELINE_ARRAY("alpha", 1, rows, N, 1);
    table[DELTA] = BASELINE_ARRAY("delta", 1, rows, N, 1);
    table[BETA] = BASELINE_ARRAY("beta", 1, rows, N, 1);
    table[GAMMA] = BASELINE_ARRAY("gamma", 1, rows, N);
    table[OMEGA] = BASELINE_ARRAY("omega", 0, H);
    return 5;
}

static double draw(const baseline_config *c, ssm2d_init init, int i, size_t k, rng *r)
{
    (void)init;
    switch (i) {
    case ALPHA:
    case DELTA: return 0.2 * rng_normal(r);
    case BETA: return 0.02 * rng_normal(r) + (k % (size_t)c->ema.d_state % 2 ? -1 : 1);
    default: return rng_normal(r);
    }
}

static const size_t sizes[] = {sizeof(ssm2d_ema_config), 0}; /* a new version goes to the end */

const baseline_kind baseline_ema = {
    .name = "ema",
    .config_name = "ema_config",

    .sizes = sizes,
    .fields = ema_fields,
    .list = list,
    .draw = draw,
    .functions = {&ema_functions_table_f32, &ema_functions_table_f64}};
