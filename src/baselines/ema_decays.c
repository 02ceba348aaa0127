/* ema_decays - from the parameters of EMA to the decays and weights of its states, and back; and
 * the recurrences of all states of a vector of channels.
 *
 *     q = 1 - sg(alpha)*sg(delta),  c = sqrt(1/N) * sg(alpha)*beta*gamma
 *     h[t] = q*h[t-1] + u[t],  z[t] = sum over states c*h[t],  so that k[t] = sum c*q^t
 * The second direction runs from the last cell to the first; with `shift` what it makes of cell t
 * goes to cell t-1. States past N have q = c = 0. */
#include "baselines/ema_internal.h"
#include "core/arith.h"

#include <math.h>

typedef struct job {
    const ssm2d_baseline_plan *plan;
    ssm2d_baseline_workspace *ws;
    const real *params;
    real *dparams;
} job;

enum { Q, C }; /* the parts of decays */

void ema_decays_make(ssm2d_baseline_plan *p)
{
    ema_plan *e = &p->ema;
    const ssm2d_ema_config *c = &p->config.ema;
    const size_t V = (size_t)p->vectors, lanes = (size_t)p->lanes, size = sizeof(real);
    e->directions = c->bidirectional ? 2 : 1;
    e->states = div_up(c->d_state, EMA_MIN_STATES) * EMA_MIN_STATES;
    e->cells = (size_t)p->rows * (size_t)p->cols;
    e->taps = c->trunc ? min_size(e->cells, (size_t)c->trunc) : e->cells;
    /* as many states are kept as are computed at once */
    e->keep = max_size(16, (size_t)ceil(sqrt((double)e->cells)));
    e->scratch = (e->keep + 1 + div_up_size(e->cells, e->keep)) * (EMA_MIN_STATES << 1) * lanes;
    e->decays = baseline_reserve(p, ema_decays_size(p) * V, size);
    e->omega = baseline_reserve(p, lanes * V, size);
    if (p->options.inference) return;
    e->ddecays = baseline_reserve(p, ema_decays_size(p) * V, size);
    e->domega = baseline_reserve(p, lanes * V, size);
}

static double logistic(double x) { return 1 / (1 + exp(-x)); }

/* Where channel h of a direction has its n-th alpha; delta, beta and gamma follow at the same
 * distance each, then omega. */
static size_t row_at(const ssm2d_baseline_plan *p, int direction, int h)
{
    return ((size_t)direction * (size_t)p->channels + (size_t)h) * (size_t)p->config.ema.d_state;
}

static size_t array_size(const ssm2d_baseline_plan *p)
{
    return (size_t)p->ema.directions * (size_t)p->channels * (size_t)p->config.ema.d_state;
}

/* The place of q of state n, and its c, in the decays of a vector. */
static size_t decay_at(const ssm2d_baseline_plan *p, int direction, int part, int n)
{
    return (size_t)((direction * 2 + part) * p->ema.states + n) * (size_t)p->lanes;
}

static void prepare_vector(void *arg, size_t v, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const int first = (int)v * p->lanes, count = min_int(p->lanes, p->channels - first);
    const size_t size = array_size(p);
    const double root = sqrt(1.0 / p->config.ema.d_state);
    real *decays = BASELINE_REGION(real, t->ws, p->ema.decays) + v * ema_decays_size(p);
    real *omega = BASELINE_REGION(real, t->ws, p->ema.omega) + v * (size_t)p->lanes;
    for (int r = 0; r < p->ema.directions; r++)
        for (int l = 0; l < count; l++)
            for (int n = 0; n < p->config.ema.d_state; n++) {
                const real *at = t->params + row_at(p, r, first + l) + (size_t)n;
                const double a = logistic((double)at[0]), d = logistic((double)at[size]);
                decays[decay_at(p, r, Q, n) + (size_t)l] = (real)(1 - a * d);
                decays[decay_at(p, r, C, n) + (size_t)l] =
                    (real)(root * a * (double)at[2 * size] * (double)at[3 * size]);
            }
    for (int l = 0; l < count; l++) omega[l] = t->params[4 * size + (size_t)(first + l)];
}

void ema_decays_prepare(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws,
                        const real *params)
{
    job t = {.plan = p, .ws = ws, .params = params};
    pool_run(p->context->pool, (size_t)p->vectors, prepare_vector, &t);
}

static void adjoint_vector(void *arg, size_t v, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const int first = (int)v * p->lanes, count = min_int(p->lanes, p->channels - first);
    const size_t size = array_size(p);
    const double root = sqrt(1.0 / p->config.ema.d_state);
    const real *ddecays = BASELINE_REGION(real, t->ws, p->ema.ddecays) + v * ema_decays_size(p);
    const real *domega = BASELINE_REGION(real, t->ws, p->ema.domega) + v * (size_t)p->lanes;
    for (int r = 0; r < p->ema.directions; r++)
        for (int l = 0; l < count; l++)
            for (int n = 0; n < p->config.ema.d_state; n++) {
                const size_t row = row_at(p, r, first + l) + (size_t)n;
                const real *at = t->params + row;
                real *to = t->dparams + row;
                const double a = logistic((double)at[0]), d = logistic((double)at[size]);
                const double beta = (double)at[2 * size], gamma = (double)at[3 * size];
                const double dq = (double)ddecays[decay_at(p, r, Q, n) + (size_t)l];
                const double dc = root * (double)ddecays[decay_at(p, r, C, n) + (size_t)l];
                to[0] += (real)((dc * beta * gamma - dq * d) * a * (1 - a));
                to[size] += (real)(-dq * a * d * (1 - d));
                to[2 * size] += (real)(dc * a * gamma);
                to[3 * size] += (real)(dc * a * beta);
            }
    for (int l = 0; l < count; l++) t->dparams[4 * size + (size_t)(first + l)] += domega[l];
}

void ema_decays_adjoint(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws,
                        const real *params, real *dparams)
{
    job t = {p, ws, params, dparams};
    pool_run(p->context->pool, (size_t)p->vectors, adjoint_vector, &t);
}

/* ---- recurrences ----------------------------------------------------------------------------- */

/* How a direction walks over a tile: where it begins in u and z, in numbers. */
typedef struct walk {
    ptrdiff_t u, z, step;
    size_t cells;
} walk;

static walk walk_of(const ssm2d_baseline_plan *p, int direction)
{
    const ptrdiff_t lanes = p->lanes, last = ((ptrdiff_t)p->ema.cells - 1) * lanes;
    if (!direction) return (walk){0, 0, lanes, p->ema.cells};
    if (!p->config.ema.shift) return (walk){last, last, -lanes, p->ema.cells};
    return (walk){last, last - lanes, -lanes, p->ema.cells - 1};
}

/* The widest function of a table for `left` states. */
static int widest(int left, int count, int available(const ema_functions *, int),
                  const ema_functions *f)
{
    int i = count - 1;
    while (i > 0 && (!available(f, i) || EMA_MIN_STATES << i > left)) i--;
    return i;
}

static int has_scan(const ema_functions *f, int i) { return f->scan[i] != NULL; }
static int has_back(const ema_functions *f, int i) { return f->back[i] != NULL; }

void ema_states_scan(const ssm2d_baseline_plan *p, int direction, real *z, const real *u,
                     const real *decays)
{
    const ema_functions *f = &((const simd_table *)p->simd)->ema;
    for (int r = 0; r < p->ema.directions; r++) {
        const walk w = walk_of(p, r);
        if (!w.cells || (direction >= 0 && r != direction)) continue;
        for (int n = 0; n < p->ema.states;) {
            const int i = widest(p->ema.states - n, EMA_SCANS, has_scan, f);
            f->scan[i](z + w.z, u + w.u, w.step, w.cells, decays + decay_at(p, r, Q, n),
                       decays + decay_at(p, r, C, n));
            n += EMA_MIN_STATES << i;
        }
    }
}

void ema_states_back(const ssm2d_baseline_plan *p, int direction, real *du, const real *dz,
                     const real *u, const real *decays, real *ddecays, real *scratch)
{
    const ema_functions *f = &((const simd_table *)p->simd)->ema;
    for (int r = 0; r < p->ema.directions; r++) {
        const walk w = walk_of(p, r);
        if (!w.cells || (direction >= 0 && r != direction)) continue;
        for (int n = 0; n < p->ema.states;) {
            const int i = widest(p->ema.states - n, EMA_BACKS, has_back, f);
            const size_t q = decay_at(p, r, Q, n), c = decay_at(p, r, C, n);
            f->back[i](du + w.u, dz + w.z, u + w.u, w.step, w.cells, decays + q, decays + c,
                       ddecays + q, ddecays + c, p->ema.keep, scratch);
            n += EMA_MIN_STATES << i;
        }
    }
}
