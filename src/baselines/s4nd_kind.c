/* s4nd_kind - configuration and parameters of S4ND. Axis 0 is rows, 1 columns; side 0 looks
 * forward, 1 backward. A is -exp(A_re) + i*A_im, dt is exp(log_dt), B is 1. */
#include "baselines/baseline.h"
#include "baselines/baseline_fields.h"
#include "core/status.h"

#include <math.h>

enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 12, MAX_SYSTEMS = 1 << 16 };

#define PLACE(name) offsetof(ssm2d_s4nd_config, name)

const ssm2d_field s4nd_fields[] = {
    {"channels", "channels of the input, each filtered by itself", SSM2D_KIND_INT,
     PLACE(base.channels), 1, MAX_CHANNELS, NULL, NULL, NULL},
    {"d_state", "dimension of the state of a system, in conjugate pairs: an even number",
     SSM2D_KIND_INT, PLACE(d_state), 2, MAX_STATE, "16", NULL, NULL},
    {"n_ssm", "systems; channels use them in turn", SSM2D_KIND_INT, PLACE(n_ssm), 1, MAX_SYSTEMS,
     "8", NULL, NULL},
    {"rate", "factor of the step dt: 0.5 on a grid twice as fine as the trained one",
     SSM2D_KIND_REAL, PLACE(rate), 1e-6, 1e6, "1", NULL, NULL},
    {0}};

static ssm2d_status check(const baseline_config *c, ssm2d_error *error)
{
    if (c->s4nd.d_state % 2)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "d_state=%d: use an even number, as states are conjugate pairs",
                    c->s4nd.d_state);
    return SSM2D_OK;
}

enum { LOG_DT, A_RE, A_IM, C, D };

static int list(const baseline_config *c, ssm2d_baseline_param *table)
{
    const size_t S = (size_t)c->s4nd.n_ssm, pairs = (size_t)c->s4nd.d_state / 2;
    const size_t H = (size_t)c->base.channels;
    table[LOG_DT] = BASELINE_ARRAY("log_dt", 1, 2, S);
    table[A_RE] = BASELINE_ARRAY("A_re", 1, 2, S, pairs);
    table[A_IM] = BASELINE_ARRAY("A_im", 1, 2, S, pairs);
    table[C] = BASELINE_ARRAY("C", 1, 2, 2, S, pairs, 2);
    table[D] = BASELINE_ARRAY("D", 0, H);
    return 5;
}

/* diag-lin: A = -1/2 + i*pi*n. C is complex normal with variance 1. `identity` makes the kernel a
 * tenth of that, the product of one factor for each axis. */
static double draw(const baseline_config *c, ssm2d_init init, int i, size_t k, rng *r)
{
    const int identity = init == SSM2D_INIT_IDENTITY;
    switch (i) {
    case LOG_DT: return rng_uniform(r, log(0.1), log(1));
    case A_RE: return log(0.5);
    case A_IM: return acos(-1) * (double)(k % ((size_t)c->s4nd.d_state / 2));
    case C: return sqrt(identity ? 0.1 : 1) * sqrt(0.5) * rng_normal(r);
    default: return identity ? 1 : rng_normal(r);
    }
}

static const size_t sizes[] = {sizeof(ssm2d_s4nd_config), 0}; /* a new version goes to the end */

const baseline_kind baseline_s4nd = {.name = "s4nd",
                                     .config_name = "s4nd_config",

                                     .sizes = sizes,
                                     .fields = s4nd_fields,
                                     .check = check,
                                     .list = list,
                                     .has_identity = 1,
                                     .draw = draw,
                                     .functions = {&s4nd_functions_f32, &s4nd_functions_f64}};
