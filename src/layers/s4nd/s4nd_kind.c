/* s4nd_kind - settings and parameters of S4ND. Axis 0 is rows, 1 columns; side 0 looks forward, 1
 * backward. The eigenvalues of a system are -exp(A_re) + i*A_im (diag) and -exp(A_re) - i*A_im
 * (dplr, as the paper's code of 2023); dt is exp(log_dt), B is 1 in diag. */
#include "core/arith.h"
#include "core/status.h"
#include "layers/s4nd/s4nd_dplr.h"
#include "layers/s4nd/s4nd_plan.h"

#include <math.h>

enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 12, MAX_SYSTEMS = 1 << 16 };

#define PLACE(name) offsetof(s4nd_config, name)

static const char *const form_names[] = {[S4ND_DIAG] = "diag", [S4ND_DPLR] = "dplr", NULL};

static const ssm2d_field fields[] = {
    {"channels", "channels of the input, each filtered by itself", SSM2D_KIND_INT, PLACE(channels),
     1, MAX_CHANNELS, NULL, NULL, NULL},
    LAYER_INIT_FIELD(s4nd_config, "authors"),
    {"d_state", "dimension of the state of a system, in conjugate pairs: an even number",
     SSM2D_KIND_INT, PLACE(d_state), 2, MAX_STATE, "16", NULL, NULL},
    {"n_ssm", "systems; channels use them in turn", SSM2D_KIND_INT, PLACE(n_ssm), 1, MAX_SYSTEMS,
     "8", NULL, NULL},
    {"rate", "factor of the step dt: 0.5 on a grid twice as fine as the trained one",
     SSM2D_KIND_REAL, PLACE(rate), 1e-6, 1e6, "1", NULL, NULL},
    {"form", "matrix of a system: diag (S4D), or dplr (S4: diagonal plus low rank, the paper's)",
     SSM2D_KIND_CHOICE, PLACE(form), 0, 1, "diag", form_names, NULL},
    {"dt_min", "smallest initial step dt; 0: 0.1 for diag, 0.001 for dplr", SSM2D_KIND_REAL,
     PLACE(dt_min), 0, 1e3, "0", NULL, NULL},
    {"dt_max", "largest initial step dt; 0: 1 for diag, 0.1 for dplr", SSM2D_KIND_REAL,
     PLACE(dt_max), 0, 1e3, "0", NULL, NULL},
    {"dt_per_channel", "a step dt for each channel, not for each system; dplr always has that",
     SSM2D_KIND_FLAG, PLACE(dt_per_channel), 0, 1, "false", NULL, NULL},
    {"init_rows", "dplr: rows of the grid that C is initialised for; 0: those of the model, or 8",
     SSM2D_KIND_INT, PLACE(init_rows), 0, 1 << 20, "0", NULL, NULL},
    {"init_cols", "dplr: the same for columns", SSM2D_KIND_INT, PLACE(init_cols), 0, 1 << 20, "0",
     NULL, NULL},
    {0}};

static const char *const initial[] = {"dt_min", "dt_max", "init_rows", "init_cols", NULL};

/* A bound that is given moves the other's default with it. */
static double dt_min(const s4nd_config *c)
{
    const double own = c->form == S4ND_DPLR ? 0.001 : 0.1;
    if (c->dt_min > 0) return c->dt_min;
    return c->dt_max > 0 ? fmin(own, c->dt_max) : own;
}

static double dt_max(const s4nd_config *c)
{
    const double own = c->form == S4ND_DPLR ? 0.1 : 1;
    if (c->dt_max > 0) return c->dt_max;
    return c->dt_min > 0 ? fmax(own, c->dt_min) : own;
}

static ssm2d_status check(const void *config, ssm2d_error *error)
{
    const s4nd_config *c = config;
    if (c->d_state % 2)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "d_state=%d: use an even number, as states are conjugate pairs", c->d_state);
    if (c->form == S4ND_DPLR && c->d_state > 2 * DPLR_MAX_PAIRS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "d_state=%d: form=dplr takes at most %d",
                    c->d_state, 2 * DPLR_MAX_PAIRS);
    if (dt_min(c) > dt_max(c))
        return fail(error, SSM2D_ERROR_ARGUMENT, "dt_min=%g: more than dt_max=%g", dt_min(c),
                    dt_max(c));
    return SSM2D_OK;
}

enum { LOG_DT, A_RE, A_IM, B, P, C, D };

static int arrays(const void *config, layer_array *table)
{
    const s4nd_config *c = config;
    const size_t S = (size_t)c->n_ssm, pairs = (size_t)c->d_state / 2;
    int n = 0;
    table[n++] = LAYER_ARRAY("log_dt", LOG_DT, 2, s4nd_steps(c));
    table[n++] = LAYER_ARRAY("A_re", A_RE, 2, S, pairs);
    table[n++] = LAYER_ARRAY("A_im", A_IM, 2, S, pairs);
    if (c->form == S4ND_DPLR) {
        table[n++] = LAYER_ARRAY("B", B, 2, S, pairs, 2);
        table[n++] = LAYER_ARRAY("P", P, 2, S, pairs, 2);
    }
    table[n++] = LAYER_ARRAY("C", C, 2, 2, S, pairs, 2);
    for (int i = 0; i < n; i++) table[i].param.system = 1;
    table[n] = LAYER_ARRAY("D", D, (size_t)c->channels);
    table[n++].param.decay = 1;
    return n;
}

/* diag-lin: A = -1/2 + i*pi*n. C is complex normal with variance 1. `identity` makes the kernel a
 * tenth of that, the product of one factor for each axis. What dplr does not draw comes from
 * `settle`. */
static double draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    const s4nd_config *c = config;
    const int identity = c->init == LAYER_INIT_IDENTITY;
    switch (array->draw) {
    case LOG_DT: return rng_uniform(r, log(dt_min(c)), log(dt_max(c)));
    case A_RE: return log(0.5);
    case A_IM: return acos(-1) * (double)(k % ((size_t)c->d_state / 2));
    case C: return sqrt(identity ? 0.1 : 1) * sqrt(0.5) * rng_normal(r);
    case D: return identity ? 1 : rng_normal(r);
    default: return 0;
    }
}

/* dplr: all systems begin as LegS, and C is multiplied by I - Ad^L with the step of channel s, so
 * that taps begin as C Ad^l Bd. */
static void settle(const void *config, layer_element *params)
{
    const s4nd_config *c = config;
    const size_t S = (size_t)c->n_ssm, N = (size_t)c->d_state / 2, H = (size_t)c->channels;
    const size_t a_re = 2 * s4nd_steps(c), a_im = a_re + 2 * S * N, b = a_im + 2 * S * N,
                 p = b + 4 * S * N, c_at = p + 4 * S * N;
    const int sides[2] = {c->init_rows ? c->init_rows : 8, c->init_cols ? c->init_cols : 8};
    dplr_system s = {.pairs = (int)N};
    if (c->form != S4ND_DPLR) return;
    dplr_legs(s.pairs, s.lambda, s.p, s.b);
    for (size_t i = 0; i < 2 * S; i++) {
        const size_t axis = i / S, system = i % S;
        s.dt = c->rate * exp(layer_element_get(params, axis * H + system % H));
        for (size_t n = 0; n < N; n++) {
            const double parts[4] = {creal(s.b[n]), cimag(s.b[n]), creal(s.p[n]), cimag(s.p[n])};
            layer_element_put(params, a_im + i * N + n, -cimag(s.lambda[n]));
            for (size_t part = 0; part < 2; part++) {
                layer_element_put(params, b + 2 * (i * N + n) + part, parts[part]);
                layer_element_put(params, p + 2 * (i * N + n) + part, parts[2 + part]);
            }
        }
        for (int side = 0; side < 2; side++) {
            const size_t at = c_at + ((2 * axis + (size_t)side) * S + system) * N * 2;
            for (size_t n = 0; n < N; n++)
                s.c[side][n] = layer_element_get(params, at + 2 * n)
                               + layer_element_get(params, at + 2 * n + 1) * I;
            dplr_shorten(&s, side, sides[axis]);
            for (size_t n = 0; n < N; n++) {
                layer_element_put(params, at + 2 * n, creal(s.c[side][n]));
                layer_element_put(params, at + 2 * n + 1, cimag(s.c[side][n]));
            }
        }
    }
}

static void fit(void *config, int rows, int cols)
{
    s4nd_config *c = config;
    if (!c->init_rows) c->init_rows = rows;
    if (!c->init_cols) c->init_cols = cols;
}

static void begin(ssm2d_plan *plan, const void *config)
{
    ((s4nd_plan *)plan)->config = *(const s4nd_config *)config;
}

static int pictures(const void *config)
{
    const s4nd_config *c = config;
    return min_int((int)s4nd_steps(c), c->channels);
}

/* Kernels are by offsets of the output from the input. */
static void picture(const void *config, const float *kernels, const size_t *shape, int h, int rows,
                    int cols, double *out)
{
    const float *k = kernels + (size_t)h % shape[0] * shape[1] * shape[2];
    const int height = 2 * rows - 1, width = 2 * cols - 1;
    (void)config;
    for (int i = 0; i < height; i++)
        for (int j = 0; j < width; j++)
            out[row_major(i, width, j)] =
                (double)k[row_major(height - 1 - i, width, width - 1 - j)];
}

static const layer_convolution convolution = {.separable = 1, .skip = "D"};

const layer_kind layer_s4nd = {.name = "s4nd",
                               .help = "S4ND, the separable state-space layer",
                               .config_size = sizeof(s4nd_config),
                               .fields = fields,
                               .plan_size = sizeof(s4nd_plan),
                               .axes = 1U << 2,
                               .check = check,
                               .arrays = arrays,
                               .draw = draw,
                               .settle = settle,
                               .initial = initial,
                               .fit = fit,
                               .begin = begin,
                               .functions = {&s4nd_functions_f32, &s4nd_functions_f64},
                               .pictures = pictures,
                               .picture = picture,
                               .convolution = &convolution};
