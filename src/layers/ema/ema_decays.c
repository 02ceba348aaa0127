/* ema_decays - computes decays and weights of EMA's states from the parameters, and the chain rule
 * back; runs the recurrences of all states of one vector of channels.
 *
 *     q = 1 - sg(alpha)*sg(delta),  c = sqrt(1/N) * sg(alpha)*beta*gamma
 *     h[t] = q*h[t-1] + u[t],  z[t] = sum over states c*h[t],  so that k[t] = sum c*q^t
 * The second direction runs from the last cell to the first; with `shift` its result for cell t is
 * added to cell t-1. States past N have q = c = 0. */
#include "layers/ema/ema_internal.h"
#include "core/arith.h"

#include <math.h>

typedef struct job {
    const ema_plan *plan;
    ssm2d_workspace *ws;
    const real *params;
    real *dparams;
} job;

enum { Q, C }; /* rows of the array of decays */

void ema_decays_make(ema_plan *p)
{
    ema_plan *e = p;
    const ema_config *c = &p->config;
    const size_t V = (size_t)p->base.vectors, lanes = (size_t)p->base.lanes, size = sizeof(real);
    e->directions = c->bidirectional ? 2 : 1;
    e->states = div_up(c->d_state, EMA_MIN_STATES) * EMA_MIN_STATES;
    e->cells = (size_t)p->base.rows * (size_t)p->base.cols;
    e->taps = c->trunc ? min_size(e->cells, (size_t)c->trunc) : e->cells;
    /* the adjoint keeps as many states as it recomputes at a time: sqrt(cells) of each */
    e->keep = max_size(16, (size_t)ceil(sqrt((double)e->cells)));
    e->scratch = (e->keep + 1 + div_up_size(e->cells, e->keep)) * (EMA_MIN_STATES << 1) * lanes;
    e->decays = plan_reserve(&p->base, ema_decays_size(p) * V, size);
    e->omega = plan_reserve(&p->base, lanes * V, size);
    if (p->base.options.inference) return;
    e->ddecays = plan_reserve(&p->base, ema_decays_size(p) * V, size);
    e->domega = plan_reserve(&p->base, lanes * V, size);
}

static double logistic(double x) { return 1 / (1 + exp(-x)); }

/* Index of alpha of channel h of a direction, state 0. delta, beta and gamma follow, each
 * array_size elements further, then omega. */
static size_t row_at(const ema_plan *p, int direction, int h)
{
    return ((size_t)direction * (size_t)p->base.channels + (size_t)h) * (size_t)p->config.d_state;
}

static size_t array_size(const ema_plan *p)
{
    return (size_t)p->directions * (size_t)p->base.channels * (size_t)p->config.d_state;
}

/* Index of q (or c) of state n in the decays of a vector of channels. */
static size_t decay_at(const ema_plan *p, int direction, int part, int n)
{
    return (size_t)((direction * 2 + part) * p->states + n) * (size_t)p->base.lanes;
}

static void prepare_vector(void *arg, size_t v, int worker)
{
    (void)worker;
    const job *t = arg;
    const ema_plan *p = t->plan;
    const int first = (int)v * p->base.lanes,
              count = min_int(p->base.lanes, p->base.channels - first);
    const size_t size = array_size(p);
    const double root = sqrt(1.0 / p->config.d_state);
    real *decays = REGION_AT(real, t->ws, p->decays) + v * ema_decays_size(p);
    real *omega = REGION_AT(real, t->ws, p->omega) + v * (size_t)p->base.lanes;
    for (int r = 0; r < p->directions; r++)
        for (int l = 0; l < count; l++)
            for (int n = 0; n < p->config.d_state; n++) {
                const real *at = t->params + row_at(p, r, first + l) + (size_t)n;
                const double a = logistic((double)at[0]), d = logistic((double)at[size]);
                decays[decay_at(p, r, Q, n) + (size_t)l] = (real)(1 - a * d);
                decays[decay_at(p, r, C, n) + (size_t)l] =
                    (real)(root * a * (double)at[2 * size] * (double)at[3 * size]);
            }
    for (int l = 0; l < count; l++) omega[l] = t->params[4 * size + (size_t)(first + l)];
}

void ema_decays_prepare(const ema_plan *p, ssm2d_workspace *ws, const real *params)
{
    job t = {.plan = p, .ws = ws, .params = params};
    pool_run(p->base.context->pool, (size_t)p->base.vectors, prepare_vector, &t);
}

static void adjoint_vector(void *arg, size_t v, int worker)
{
    (void)worker;
    const job *t = arg;
    const ema_plan *p = t->plan;
    const int first = (int)v * p->base.lanes,
              count = min_int(p->base.lanes, p->base.channels - first);
    const size_t size = array_size(p);
    const double root = sqrt(1.0 / p->config.d_state);
    const real *ddecays = REGION_AT(real, t->ws, p->ddecays) + v * ema_decays_size(p);
    const real *domega = REGION_AT(real, t->ws, p->domega) + v * (size_t)p->base.lanes;
    for (int r = 0; r < p->directions; r++)
        for (int l = 0; l < count; l++)
            for (int n = 0; n < p->config.d_state; n++) {
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

void ema_decays_adjoint(const ema_plan *p, ssm2d_workspace *ws, const real *params, real *dparams)
{
    job t = {p, ws, params, dparams};
    pool_run(p->base.context->pool, (size_t)p->base.vectors, adjoint_vector, &t);
}

/* ---- recurrences ----------------------------------------------------------------------------- */

/* How a direction traverses a tile: its first cell in u and z and its step, in elements. */
typedef struct walk {
    ptrdiff_t u, z, step;
    size_t cells;
} walk;

static walk walk_of(const ema_plan *p, int direction)
{
    const ptrdiff_t lanes = p->base.lanes, last = ((ptrdiff_t)p->cells - 1) * lanes;
    if (!direction) return (walk){0, 0, lanes, p->cells};
    if (!p->config.shift) return (walk){last, last, -lanes, p->cells};
    return (walk){last, last - lanes, -lanes, p->cells - 1};
}

/* Index of the function that handles the most states at once, at most `left`. */
static int widest(int left, int count, int available(const ema_functions *, int),
                  const ema_functions *f)
{
    int i = count - 1;
    while (i > 0 && (!available(f, i) || EMA_MIN_STATES << i > left)) i--;
    return i;
}

static int has_scan(const ema_functions *f, int i) { return f->scan[i] != NULL; }
static int has_back(const ema_functions *f, int i) { return f->back[i] != NULL; }

void ema_states_scan(const ema_plan *p, int direction, real *z, const real *u, const real *decays)
{
    const ema_functions *f = &((const simd_table *)p->base.simd)->ema;
    for (int r = 0; r < p->directions; r++) {
        const walk w = walk_of(p, r);
        if (!w.cells || (direction >= 0 && r != direction)) continue;
        for (int n = 0; n < p->states;) {
            const int i = widest(p->states - n, EMA_SCANS, has_scan, f);
            f->scan[i](z + w.z, u + w.u, w.step, w.cells, decays + decay_at(p, r, Q, n),
                       decays + decay_at(p, r, C, n));
            n += EMA_MIN_STATES << i;
        }
    }
}

void ema_states_back(const ema_plan *p, int direction, real *du, const real *dz, const real *u,
                     const real *decays, real *ddecays, real *scratch)
{
    const ema_functions *f = &((const simd_table *)p->base.simd)->ema;
    for (int r = 0; r < p->directions; r++) {
        const walk w = walk_of(p, r);
        if (!w.cells || (direction >= 0 && r != direction)) continue;
        for (int n = 0; n < p->states;) {
            const int i = widest(p->states - n, EMA_BACKS, has_back, f);
            const size_t q = decay_at(p, r, Q, n), c = decay_at(p, r, C, n);
            f->back[i](du + w.u, dz + w.z, u + w.u, w.step, w.cells, decays + q, decays + c,
                       ddecays + q, ddecays + c, p->keep, scratch);
            n += EMA_MIN_STATES << i;
        }
    }
}
