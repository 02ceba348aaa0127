/* s4nd_taps - computes the taps of systems from the parameters, in double, and the chain rule back.
 * A set of taps belongs to a step dt: there is one for each system, or one for each channel
 * (s4nd_steps). Set w belongs to system w mod S, and channel h uses set h modulo the number of
 * sets. Diagonal systems have
 *
 *     x = dt*A,  A = -exp(A_re) + i*A_im,  dt = rate*exp(log_dt)
 *     k[side][l] = 2 Re sum_n C * G * exp(l*x),   G = (exp(x) - 1)/A = dt*phi(x)
 * phi(x) = (exp(x) - 1)/x and its derivative are entire, so A = 0 needs no special case. Offsets o
 * >= 0 are side 0, l = o; offsets o < 0 are side 1, l = -o-1. For the adjoint, with g = dk,
 *     P[side] = sum_l g*conj(exp(l*x)),   Q = sum over sides and l of conj(C)*g*l*conj(exp(l*x))
 *     dC = 2*conj(G)*P,   dG = 2 sum over sides conj(C)*P,   dx = 2*conj(G)*Q + dG*dt*conj(phi')
 * where a gradient is d/dRe + i*d/dIm. For systems that are diagonal plus low rank see
 * s4nd_dplr.h. */
#include "layers/s4nd/s4nd_dplr.h"
#include "layers/s4nd/s4nd_internal.h"
#include "core/arith.h"

#include <complex.h>
#include <math.h>

enum { RECOMPUTE = 64 }; /* interval between exact powers; products between */

typedef struct job {
    const s4nd_plan *plan;
    ssm2d_workspace *ws;
    const real *params;
    real *dparams;
} job;

/* Indices of the first elements of one axis and set in each array; see s4nd_kind.c. b and p: dplr
 * only. */
typedef struct places {
    size_t log_dt, a_re, a_im, b, p, c[2], d, pairs;
} places;

static places places_of(const s4nd_plan *p, size_t axis, size_t set)
{
    const size_t S = (size_t)p->config.n_ssm, N = (size_t)p->config.d_state / 2, s = set % S;
    const size_t sets = s4nd_steps(&p->config), low_rank = p->config.form == S4ND_DPLR;
    const size_t a_re = 2 * sets, a_im = a_re + 2 * S * N, b = a_im + 2 * S * N;
    const size_t P = b + low_rank * 4 * S * N, c = P + low_rank * 4 * S * N;
    return (places){.log_dt = axis * sets + set,
                    .a_re = a_re + (axis * S + s) * N,
                    .a_im = a_im + (axis * S + s) * N,
                    .b = b + (axis * S + s) * N * 2,
                    .p = P + (axis * S + s) * N * 2,
                    .c = {c + ((2 * axis) * S + s) * N * 2, c + ((2 * axis + 1) * S + s) * N * 2},
                    .d = c + 4 * S * N * 2,
                    .pairs = N};
}

static double complex complex_of(double re, double im) { return re + im * I; }

/* One conjugate pair of states of a system. */
typedef struct pair {
    double dt;
    double complex a, x, phi, slope; /* slope: phi'(x) */
} pair;

/* exp(x) - 1 without cancellation */
static double complex expm1_of(double complex x)
{
    const double half = sin(cimag(x) / 2), e = expm1(creal(x));
    return complex_of(e - (1 + e) * 2 * half * half, (1 + e) * sin(cimag(x)));
}

/* Larger exponents and frequencies no longer change the taps. The bounds keep x = dt*A and its
 * multiples finite: 0 times infinity would be NaN. */
static const double MAX_EXPONENT = 300, MAX_FREQUENCY = 1e130;

static double exp_bounded(double x) { return exp(x < MAX_EXPONENT ? x : MAX_EXPONENT); }

static pair pair_of(const s4nd_plan *p, const real *params, const places *at, size_t n)
{
    const double a_im = (double)params[at->a_im + n];
    pair r = {.dt = p->config.rate * exp_bounded((double)params[at->log_dt])};
    r.a = complex_of(-exp_bounded((double)params[at->a_re + n]),
                     fmin(fmax(a_im, -MAX_FREQUENCY), MAX_FREQUENCY));
    r.x = r.dt * r.a;
    if (cabs(r.x) >= 0.5) {
        r.phi = expm1_of(r.x) / r.x;
        r.slope = (1 + expm1_of(r.x) - r.phi) / r.x;
        return r;
    }
    /* phi = sum x^k/(k+1)!, its slope = sum k*x^(k-1)/(k+1)! */
    double complex power = 1; /* x^(k-1)/k! */
    r.phi = 1;
    for (int k = 1; k < 20; k++) {
        power /= k;
        r.slope += power * k / (k + 1);
        power *= r.x;
        r.phi += power / (k + 1);
    }
    return r;
}

static double complex c_of(const real *params, const places *at, int side, size_t n)
{
    const real *c = params + at->c[side] + 2 * n;
    return complex_of((double)c[0], (double)c[1]);
}

static double complex complex_at(const real *params, size_t at)
{
    return complex_of((double)params[at], (double)params[at + 1]);
}

static dplr_system dplr_of(const s4nd_plan *p, const real *params, const places *at)
{
    dplr_system s = {.pairs = (int)at->pairs};
    s.dt = p->config.rate * exp_bounded((double)params[at->log_dt]);
    for (size_t n = 0; n < at->pairs; n++) {
        const double a_im = (double)params[at->a_im + n];
        s.lambda[n] = complex_of(-exp_bounded((double)params[at->a_re + n]),
                                 -fmin(fmax(a_im, -MAX_FREQUENCY), MAX_FREQUENCY));
        s.b[n] = complex_at(params, at->b + 2 * n);
        s.p[n] = complex_at(params, at->p + 2 * n);
        for (int side = 0; side < 2; side++) s.c[side][n] = c_of(params, at, side, n);
    }
    return s;
}

/* The taps of both sides of an axis, given its tap at offset 0. */
static dplr_view view_of(double *centre, size_t sets, int L)
{
    const ptrdiff_t step = (ptrdiff_t)sets;
    return (dplr_view){{centre, centre - step}, {step, -step}, {L, L - 1}};
}

/* The taps of one axis and set: [offset] at system_taps + offset*sets + set. */
static void make_set(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const s4nd_plan *p = t->plan;
    const size_t S = s4nd_steps(&p->config), axis = task / S, set = task % S;
    const int L = s4nd_side(p, (int)axis);
    const places at = places_of(p, axis, set);
    double *taps = REGION_AT(double, t->ws, p->system_taps) + set;
    double *centre = taps + (size_t)s4nd_centre(p, (int)axis) * S;
    if (p->config.form == S4ND_DPLR) {
        const dplr_system system = dplr_of(p, t->params, &at);
        const dplr_view view = view_of(centre, S, L);
        dplr_taps(&system, L, &view);
        return;
    }
    for (int o = 1 - L; o < L; o++) centre[o * (ptrdiff_t)S] = 0;
    for (size_t n = 0; n < at.pairs; n++) {
        const pair r = pair_of(p, t->params, &at, n);
        const double complex step = cexp(r.x), gain = 2 * r.dt * r.phi;
        const double complex forward = gain * c_of(t->params, &at, 0, n);
        const double complex backward = gain * c_of(t->params, &at, 1, n);
        double complex power = 1;
        for (int l = 0; l < L; l++) {
            if (l % RECOMPUTE == 0) power = cexp(l * r.x);
            centre[l * (ptrdiff_t)S] += creal(forward * power);
            if (l < L - 1) centre[-(l + 1) * (ptrdiff_t)S] += creal(backward * power);
            power *= step;
        }
    }
}

void s4nd_systems_make(const s4nd_plan *p, ssm2d_workspace *ws, const real *params)
{
    job t = {.plan = p, .ws = ws, .params = params};
    pool_run(p->base.context->pool, 2 * s4nd_steps(&p->config), make_set, &t);
}

/* The taps and D of a vector of channels. */
static void make_vector(void *arg, size_t v, int worker)
{
    (void)worker;
    const job *t = arg;
    const s4nd_plan *p = t->plan;
    const int first = (int)v * p->base.lanes,
              count = min_int(p->base.lanes, p->base.channels - first);
    const size_t S = s4nd_steps(&p->config), taps = (size_t)p->taps;
    const size_t lanes = (size_t)p->base.lanes, size = taps * lanes;
    const double *system = REGION_AT(double, t->ws, p->system_taps);
    real *plain = REGION_AT(real, t->ws, p->vector_taps) + v * size;
    real *d = REGION_AT(real, t->ws, p->d) + v * lanes;
    const size_t d_at = places_of(p, 0, 0).d + (size_t)first;
    for (int l = 0; l < count; l++) d[l] = t->params[d_at + (size_t)l];
    for (size_t o = 0; o < taps; o++)
        for (size_t l = 0; l < (size_t)count; l++)
            plain[o * lanes + l] = (real)system[o * S + ((size_t)first + l) % S];
}

void s4nd_taps_prepare(const s4nd_plan *p, ssm2d_workspace *ws, const real *params)
{
    job t = {.plan = p, .ws = ws, .params = params};
    s4nd_systems_make(p, ws, params);
    pool_run(p->base.context->pool, (size_t)p->base.vectors, make_vector, &t);
}

/* ---- adjoint --------------------------------------------------------------------------------- */

/* The gradient of one tap (or D) of channel h: the sum over chunks of `partial`, in their order. */
static double channel_sum(const job *t, int tap, int h)
{
    const s4nd_plan *p = t->plan;
    const size_t lanes = (size_t)p->base.lanes, per_vector = (size_t)(p->taps + 1) * lanes;
    const real *from = REGION_AT(real, t->ws, p->partial) + (size_t)(h / p->base.lanes) * per_vector
                       + (size_t)tap * lanes + (size_t)(h % p->base.lanes);
    double sum = 0;
    for (int chunk = 0; chunk < p->groups.chunks; chunk++)
        sum += (double)from[(size_t)chunk * (size_t)p->base.vectors * per_vector];
    return sum;
}

static void back_pair(const job *t, const places *at, size_t n, const double *dtaps, int L)
{
    const ptrdiff_t S = (ptrdiff_t)s4nd_steps(&t->plan->config);
    const pair r = pair_of(t->plan, t->params, at, n);
    const double complex step = cexp(r.x), gain = r.dt * r.phi;
    const double complex c[2] = {c_of(t->params, at, 0, n), c_of(t->params, at, 1, n)};
    double complex power = 1, sums[2] = {0, 0}, weighted[2] = {0, 0};
    for (int l = 0; l < L; l++) {
        if (l % RECOMPUTE == 0) power = cexp(l * r.x);
        const double g[2] = {dtaps[l * S], l < L - 1 ? dtaps[-(l + 1) * S] : 0};
        for (int side = 0; side < 2; side++) {
            sums[side] += g[side] * conj(power);
            weighted[side] += l * g[side] * conj(power);
        }
        power *= step;
    }
    const double complex dgain = 2 * (conj(c[0]) * sums[0] + conj(c[1]) * sums[1]);
    const double complex dx = 2 * conj(gain) * (conj(c[0]) * weighted[0] + conj(c[1]) * weighted[1])
                              + dgain * r.dt * conj(r.slope);
    const double complex da = r.dt * dx;
    const double ddt = creal(dx * conj(r.a)) + creal(dgain * conj(r.phi));
    for (int side = 0; side < 2; side++) {
        const double complex dc = 2 * conj(gain) * sums[side];
        t->dparams[at->c[side] + 2 * n] += (real)creal(dc);
        t->dparams[at->c[side] + 2 * n + 1] += (real)cimag(dc);
    }
    t->dparams[at->a_re + n] += (real)(creal(da) * creal(r.a));
    t->dparams[at->a_im + n] += (real)cimag(da);
    t->dparams[at->log_dt] += (real)(ddt * r.dt);
}

static void back_dplr(const job *t, const places *at, double *centre, int L)
{
    const dplr_system s = dplr_of(t->plan, t->params, at);
    const dplr_view view = view_of(centre, s4nd_steps(&t->plan->config), L);
    dplr_system d = {0};
    dplr_taps_adjoint(&s, L, &view, &d);
    for (size_t n = 0; n < at->pairs; n++) {
        t->dparams[at->a_re + n] += (real)(creal(d.lambda[n]) * creal(s.lambda[n]));
        t->dparams[at->a_im + n] -= (real)cimag(d.lambda[n]);
        const size_t starts[4] = {at->b + 2 * n, at->p + 2 * n, at->c[0] + 2 * n, at->c[1] + 2 * n};
        const double complex values[4] = {d.b[n], d.p[n], d.c[0][n], d.c[1][n]};
        for (int i = 0; i < 4; i++) {
            t->dparams[starts[i]] += (real)creal(values[i]);
            t->dparams[starts[i] + 1] += (real)cimag(values[i]);
        }
    }
    t->dparams[at->log_dt] += (real)(d.dt * s.dt);
}

/* The adjoint of one system of an axis, over all of its sets in order. */
static void back_system(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const s4nd_plan *p = t->plan;
    const size_t S = (size_t)p->config.n_ssm, axis = task / S, sets = s4nd_steps(&p->config);
    const int L = s4nd_side(p, (int)axis), centre = s4nd_centre(p, (int)axis);
    for (size_t set = task % S; set < sets; set += S) {
        const places at = places_of(p, axis, set);
        double *dtaps = REGION_AT(double, t->ws, p->system_taps) + set;
        for (int o = 1 - L; o < L; o++) {
            double sum = 0;
            for (int h = (int)set; h < p->base.channels; h += (int)sets)
                sum += channel_sum(t, centre + o, h);
            dtaps[(size_t)(centre + o) * sets] = sum;
        }
        if (p->config.form == S4ND_DPLR) {
            back_dplr(t, &at, dtaps + (size_t)centre * sets, L);
            continue;
        }
        for (size_t n = 0; n < at.pairs; n++)
            back_pair(t, &at, n, dtaps + (size_t)centre * sets, L);
    }
}

void s4nd_taps_adjoint(const s4nd_plan *p, ssm2d_workspace *ws, const real *params, real *dparams)
{
    job t = {p, ws, params, dparams};
    pool_run(p->base.context->pool, 2 * (size_t)p->config.n_ssm, back_system, &t);
    real *dd = dparams + places_of(p, 0, 0).d;
    for (int h = 0; h < p->base.channels; h++) dd[h] += (real)channel_sum(&t, p->taps, h);
}
