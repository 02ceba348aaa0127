/* s4nd_execute - planning, forward and backward of S4ND, for one number type. */
#include "layers/s4nd/s4nd_internal.h"

/* All algorithms; each is a file and a line here. */
static const s4nd_algorithm *const algorithms[] = {&s4nd_direct, &s4nd_fft};

enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

static const char *algorithm(int i) { return i < ALGORITHMS ? algorithms[i]->name : NULL; }

static const s4nd_plan *own(const ssm2d_plan *plan) { return (const s4nd_plan *)plan; }

static const s4nd_algorithm *algorithm_of(const ssm2d_plan *plan) { return own(plan)->algorithm; }

static ssm2d_status plan(ssm2d_plan *base, int i, ssm2d_error *error)
{
    s4nd_plan *p = (s4nd_plan *)base;
    (void)error;
    p->algorithm = algorithms[i];
    s4nd_tiles_plan(p);
    return SSM2D_OK;
}

static double cost(const ssm2d_plan *p) { return algorithm_of(p)->cost(own(p)); }

static ssm2d_status finish(ssm2d_plan *p, ssm2d_error *error)
{
    const s4nd_algorithm *a = algorithm_of(p);
    return a->finish ? a->finish((s4nd_plan *)p, error) : SSM2D_OK;
}

static void release(ssm2d_plan *p)
{
    for (int axis = 0; axis < 2; axis++) mem_free(p->context, own(p)->twiddles[axis]);
}

static int kernel_shape(const ssm2d_plan *p, size_t shape[SSM2D_KERNEL_RANK])
{
    shape[0] = s4nd_steps(&own(p)->config);
    shape[1] = 2 * (size_t)p->rows - 1;
    shape[2] = 2 * (size_t)p->cols - 1;
    return 3;
}

static void prepare(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params)
{
    s4nd_taps_prepare(own(p), ws, params);
    s4nd_tiles_prepare(own(p), ws);
}

static void apply(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, void *y)
{
    s4nd_tiles_apply(own(p), ws, u, y);
}

static void backward(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    s4nd_tiles_backward(own(p), ws, u, dy, du, dparams != NULL);
    if (dparams) s4nd_taps_adjoint(own(p), ws, params, dparams);
}

/* The product of the taps of the axes. */
static void kernel(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, void *out)
{
    const s4nd_plan *p = own(base);
    const size_t S = s4nd_steps(&p->config), rows = 2 * (size_t)p->base.rows - 1,
                 cols = 2 * (size_t)p->base.cols - 1;
    const double *taps = REGION_AT(double, ws, p->system_taps);
    real *k = out;
    s4nd_systems_make(p, ws, params);
    for (size_t s = 0; s < S; s++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                *k++ = (real)(taps[i * S + s] * taps[(rows + j) * S + s]);
}

const layer_functions s4nd_functions = {.size = sizeof(real),
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
