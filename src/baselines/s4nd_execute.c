/* s4nd_execute - planning, forward and backward of S4ND, for one number type. */
#include "baselines/s4nd_internal.h"

static const void *bodies_for(cpu_level level, int *lanes)
{
    const simd_table *simd = simd_for(level);
    *lanes = simd->lanes;
    return simd;
}

/* Every algorithm there is: one file, one line. */
static const s4nd_algorithm *const algorithms[] = {&s4nd_direct, &s4nd_fft};

enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

static const char *algorithm(int i) { return i < ALGORITHMS ? algorithms[i]->name : NULL; }

static const s4nd_algorithm *algorithm_of(const ssm2d_baseline_plan *p)
{
    return p->s4nd.algorithm;
}

static ssm2d_status plan(ssm2d_baseline_plan *p, int i, ssm2d_error *error)
{
    (void)error;
    p->s4nd.algorithm = algorithms[i];
    s4nd_tiles_plan(p);
    return SSM2D_OK;
}

static double cost(const ssm2d_baseline_plan *p) { return algorithm_of(p)->cost(p); }

static ssm2d_status finish(ssm2d_baseline_plan *p, ssm2d_error *error)
{
    return algorithm_of(p)->finish ? algorithm_of(p)->finish(p, error) : SSM2D_OK;
}

static void release(ssm2d_baseline_plan *p)
{
    for (int axis = 0; axis < 2; axis++) mem_free(p->context, p->s4nd.twiddles[axis]);
}

static int kernel_shape(const ssm2d_baseline_plan *p, size_t shape[3])
{
    shape[0] = (size_t)p->config.s4nd.n_ssm;
    shape[1] = 2 * (size_t)p->rows - 1;
    shape[2] = 2 * (size_t)p->cols - 1;
    return 3;
}

static void prepare(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *params)
{
    s4nd_taps_prepare(p, ws, params);
    s4nd_tiles_prepare(p, ws);
}

static void apply(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *u,
                  void *y)
{
    s4nd_tiles_apply(p, ws, u, y);
}

static void backward(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *params,
                     const void *u, const void *dy, void *du, void *dparams)
{
    s4nd_tiles_backward(p, ws, u, dy, du, dparams != NULL);
    if (dparams) s4nd_taps_adjoint(p, ws, params, dparams);
}

/* The product of the taps of the axes. */
static void kernel(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *params,
                   void *out)
{
    const size_t S = (size_t)p->config.s4nd.n_ssm, rows = 2 * (size_t)p->rows - 1,
                 cols = 2 * (size_t)p->cols - 1;
    const double *taps = BASELINE_REGION(double, ws, p->s4nd.system_taps);
    real *k = out;
    s4nd_systems_make(p, ws, params);
    for (size_t s = 0; s < S; s++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                *k++ = (real)(taps[i * S + s] * taps[(rows + j) * S + s]);
}

const baseline_functions s4nd_functions = {.size = sizeof(real),
                                           .simd = bodies_for,
                                           .algorithm = algorithm,
                                           .plan = plan,
                                           .cost = cost,
                                           .finish = finish,
                                           .release = release,
                                           .kernel_shape = kernel_shape,
                                           .prepare = prepare,
                                           .apply = apply,
                                           .backward = backward,
                                           .kernel = kernel};
