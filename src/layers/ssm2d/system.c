/* system - computes the coefficients of the recursions from the raw parameters (docs/layer.md,
 * sections 1 and 2), and the chain rule back.
 *
 * There are few coefficients, so they are computed in double and in C's complex type for both
 * number types. A gradient of a complex z is d/d(re) + i*d/d(im); through w = f(z) analytic it is
 * multiplied by conj(f'). */
#include "layers/ssm2d/assign.h"
#include "layers/ssm2d/ssm2d_internal.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#ifndef CMPLX /* glibc defines it for gcc only */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

typedef double complex complex_double;

static const double TWO_PI = 6.283185307179586476925;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double sigmoid_slope(double s) { return s * (1 - s); }
/* exp(i*angle) */
static complex_double exp_i(double angle) { return CMPLX(cos(angle), sin(angle)); }
static double re_adjoint(complex_double g, complex_double slope)
{
    return creal(g) * creal(slope) + cimag(g) * cimag(slope);
}

/* Factors of the normalisation for steps and output (see the table of norms in docs/layer.md). */
typedef struct factors {
    double border, inside, output; /* g at the border, g inside, m at the border */
} factors;

static factors factors_of(ssm2d_norm norm)
{
    switch (norm) {
    case SSM2D_NORM_NONE: return (factors){1, 1, 1};
    case SSM2D_NORM_HALF: return (factors){0.5, 0.5, 1};
    case SSM2D_NORM_PAPER: return (factors){1, 0.5, 2};
    case SSM2D_NORM_RELAXED: break;
    }
    return (factors){1, 0.5, 1};
}

double system_border(const ssm2d_kind_plan *plan) { return factors_of(plan->config.norm).output; }

static double c_scale(const ssm2d_config *config)
{
    return sqrt(1.0 / config->d_state) / (config->average ? config->directions : 1);
}

/* The values of coordinate n of system k, and of row c of C. `i` is the index in an array of shape
 * [which][rows][N]. */
static complex_double a_at(const ssm2d_kind_plan *p, const real *params, size_t i)
{
    double s = sigmoid(params[p->params.a + i]);
    return p->config.values == SSM2D_REAL
               ? s
               : s * exp_i(TWO_PI * sigmoid(params[p->params.a_angle + i]));
}

static complex_double b_at(const ssm2d_kind_plan *p, const real *params, size_t i)
{
    switch (p->config.values) {
    case SSM2D_POLAR:
        return sigmoid(params[p->params.b + i])
               * exp_i(TWO_PI * sigmoid(params[p->params.b_angle + i]));
    case SSM2D_CARTESIAN:
        return CMPLX(sigmoid(params[p->params.b + 2 * i]),
                     sigmoid(params[p->params.b + 2 * i + 1]));
    case SSM2D_REAL: break;
    }
    return sigmoid(params[p->params.b + i]);
}

static complex_double c_at(const ssm2d_kind_plan *p, const real *params, size_t i)
{
    switch (p->config.values) {
    case SSM2D_POLAR:
        return params[p->params.c + i] * exp_i(TWO_PI * sigmoid(params[p->params.c_angle + i]));
    case SSM2D_CARTESIAN:
        return CMPLX(params[p->params.c + 2 * i], params[p->params.c + 2 * i + 1]);
    case SSM2D_REAL: break;
    }
    return params[p->params.c + i];
}

/* One coordinate of one system; i as above; a2 is KN elements after a1, and so on. */
typedef struct coordinate {
    complex_double a1, a2, a3, a4, b1, b2;
} coordinate;

static coordinate coordinate_at(const ssm2d_kind_plan *p, const real *params, size_t i, size_t KN)
{
    return (coordinate){a_at(p, params, i),          a_at(p, params, KN + i),
                        a_at(p, params, 2 * KN + i), a_at(p, params, 3 * KN + i),
                        b_at(p, params, i),          b_at(p, params, KN + i)};
}

/* Adds the gradient of the angle to dangle, g being that of z = radius *
 * exp(2*pi*i*sigmoid(angle)). */
static void add_polar(real *dangle, double angle, complex_double z, complex_double g)
{
    *dangle += (real)re_adjoint(g, z * CMPLX(0, TWO_PI * sigmoid_slope(sigmoid(angle))));
}

static void add_a(const ssm2d_kind_plan *p, const real *params, real *dparams, size_t i,
                  complex_double a, complex_double g)
{
    /* derivative of log sigmoid: da/draw = a * (1 - s) */
    double s = sigmoid(params[p->params.a + i]), slope = 1 - s;
    dparams[p->params.a + i] += (real)re_adjoint(g, a * slope);
    if (p->config.values != SSM2D_REAL)
        add_polar(&dparams[p->params.a_angle + i], params[p->params.a_angle + i], a, g);
}

static void add_b(const ssm2d_kind_plan *p, const real *params, real *dparams, size_t i,
                  complex_double b, complex_double g)
{
    if (p->config.values == SSM2D_CARTESIAN) {
        dparams[p->params.b + 2 * i] += (real)(creal(g) * sigmoid_slope(creal(b)));
        dparams[p->params.b + 2 * i + 1] += (real)(cimag(g) * sigmoid_slope(cimag(b)));
        return;
    }
    double s = sigmoid(params[p->params.b + i]);
    dparams[p->params.b + i] += (real)re_adjoint(g, b * (1 - s));
    if (p->config.values == SSM2D_POLAR)
        add_polar(&dparams[p->params.b_angle + i], params[p->params.b_angle + i], b, g);
}

static void add_c(const ssm2d_kind_plan *p, const real *params, real *dparams, size_t i,
                  complex_double c, complex_double g)
{
    switch (p->config.values) {
    case SSM2D_REAL: dparams[p->params.c + i] += (real)creal(g); break;
    case SSM2D_CARTESIAN:
        dparams[p->params.c + 2 * i] += (real)creal(g);
        dparams[p->params.c + 2 * i + 1] += (real)cimag(g);
        break;
    case SSM2D_POLAR: {
        double angle = params[p->params.c_angle + i];
        dparams[p->params.c + i] += (real)re_adjoint(g, exp_i(TWO_PI * sigmoid(angle)));
        add_polar(&dparams[p->params.c_angle + i], angle, c, g);
    }
    }
}

/* Store and load coordinate n of a vector of `width` real and, if complex, `width` imaginary
 * parts. */
static void put(const ssm2d_kind_plan *p, real *vector, int n, complex_double z)
{
    vector[n] = (real)creal(z);
    if (p->wide > p->width) vector[p->width + n] = (real)cimag(z);
}

static complex_double get(const ssm2d_kind_plan *p, const real *vector, int n)
{
    return p->wide > p->width ? CMPLX(vector[n], vector[p->width + n]) : vector[n];
}

typedef struct job {
    const ssm2d_kind_plan *plan;
    ssm2d_workspace *ws;
    const real *params;
    real *dparams;
} job;

static void prepare_system(void *arg, size_t k, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const factors g = factors_of(p->config.norm);
    const int N = p->config.d_state;
    const size_t W = (size_t)p->wide, KN = (size_t)p->systems * (size_t)N,
                 CN = (size_t)p->c_rows * (size_t)N;
    const double scale = c_scale(&p->config);
    real *coef = REGION(real, t->ws, coef) + k * COEFS * W;
    for (size_t c = first_c_row(&p->config, k); c < (size_t)p->c_rows;
         c = next_c_row(&p->config, k, c))
        REGION(double, t->ws, centre)[c] = 0;
    for (int n = 0; n < N; n++) {
        size_t i = k * (size_t)N + (size_t)n;
        const coordinate x = coordinate_at(p, t->params, i, KN);
        const complex_double a1 = x.a1, a2 = x.a2, a3 = x.a3, a4 = x.a4, b1 = x.b1, b2 = x.b2;
        put(p, coef + RHO * W, n, g.border * a1);
        put(p, coef + SIGMA * W, n, g.inside * a1);
        put(p, coef + TAU * W, n, g.inside * a2);
        put(p, coef + PHI * W, n, g.inside * a3);
        put(p, coef + PSI * W, n, g.inside * a4);
        put(p, coef + CHI * W, n, g.border * a4);
        put(p, coef + E_H * W, n, g.border * (a1 * b1 + a2 * b2));
        put(p, coef + E_V * W, n, g.border * (a3 * b1 + a4 * b2));
        for (size_t c = first_c_row(&p->config, k); c < (size_t)p->c_rows;
             c = next_c_row(&p->config, k, c)) {
            size_t ci = c * (size_t)N + (size_t)n;
            complex_double c1 = scale * c_at(p, t->params, ci),
                           c2 = scale * c_at(p, t->params, CN + ci);
            put(p, REGION(real, t->ws, c) + 2 * c * W, n, c1);
            put(p, REGION(real, t->ws, c) + (2 * c + 1) * W, n, c2);
            REGION(double, t->ws, centre)[c] += g.output * creal(c1 * b1 + c2 * b2);
        }
    }
}

static void adjoint_system(void *arg, size_t k, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const factors g = factors_of(p->config.norm);
    const int N = p->config.d_state;
    const size_t W = (size_t)p->wide, KN = (size_t)p->systems * (size_t)N,
                 CN = (size_t)p->c_rows * (size_t)N;
    const double scale = c_scale(&p->config);
    const real *dcoef = REGION(real, t->ws, dcoef) + k * COEFS * W;
    for (int n = 0; n < N; n++) {
        size_t i = k * (size_t)N + (size_t)n;
        const coordinate x = coordinate_at(p, t->params, i, KN);
        const complex_double a1 = x.a1, a2 = x.a2, a3 = x.a3, a4 = x.a4, b1 = x.b1, b2 = x.b2;
        complex_double de_h = g.border * get(p, dcoef + E_H * W, n),
                       de_v = g.border * get(p, dcoef + E_V * W, n);
        complex_double db1 = conj(a1) * de_h + conj(a3) * de_v,
                       db2 = conj(a2) * de_h + conj(a4) * de_v;
        for (size_t c = first_c_row(&p->config, k); c < (size_t)p->c_rows;
             c = next_c_row(&p->config, k, c)) {
            size_t ci = c * (size_t)N + (size_t)n;
            complex_double c1 = c_at(p, t->params, ci), c2 = c_at(p, t->params, CN + ci);
            double dcentre = g.output * scale * REGION(real, t->ws, dcentre)[c];
            db1 += conj(c1) * dcentre;
            db2 += conj(c2) * dcentre;
            complex_double dc1 =
                scale * get(p, REGION(real, t->ws, dc) + 2 * c * W, n) + conj(b1) * dcentre;
            complex_double dc2 =
                scale * get(p, REGION(real, t->ws, dc) + (2 * c + 1) * W, n) + conj(b2) * dcentre;
            add_c(p, t->params, t->dparams, ci, c1, dc1);
            add_c(p, t->params, t->dparams, CN + ci, c2, dc2);
        }
        complex_double da1 = g.border * get(p, dcoef + RHO * W, n)
                             + g.inside * get(p, dcoef + SIGMA * W, n) + conj(b1) * de_h;
        complex_double da4 = g.border * get(p, dcoef + CHI * W, n)
                             + g.inside * get(p, dcoef + PSI * W, n) + conj(b2) * de_v;
        add_a(p, t->params, t->dparams, i, a1, da1);
        add_a(p, t->params, t->dparams, KN + i, a2,
              g.inside * get(p, dcoef + TAU * W, n) + conj(b2) * de_h);
        add_a(p, t->params, t->dparams, 2 * KN + i, a3,
              g.inside * get(p, dcoef + PHI * W, n) + conj(b1) * de_v);
        add_a(p, t->params, t->dparams, 3 * KN + i, a4, da4);
        add_b(p, t->params, t->dparams, i, b1, db1);
        add_b(p, t->params, t->dparams, KN + i, b2, db2);
    }
}

void system_prepare(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *params)
{
    const size_t H = (size_t)plan->config.channels;
    job t = {plan, ws, params, NULL};
    pool_run(plan->base.context->pool, (size_t)plan->systems, prepare_system, &t);
    if (plan->config.skip) memcpy(REGION(real, ws, d), params + plan->params.d, H * sizeof(real));
    if (plan->config.layer_norm) {
        memcpy(REGION(real, ws, norm), params + plan->params.gamma, H * sizeof(real));
        memcpy(REGION(real, ws, norm) + H, params + plan->params.beta, H * sizeof(real));
    }
}

void system_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *params,
                    real *dparams)
{
    job t = {plan, ws, params, dparams};
    pool_run(plan->base.context->pool, (size_t)plan->systems, adjoint_system, &t);
    if (!plan->config.skip) return;
    for (int h = 0; h < plan->config.channels; h++)
        dparams[plan->params.d + (size_t)h] += REGION(real, ws, dd)[h];
}
