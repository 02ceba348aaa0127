/* ema_execute - planning, forward and backward of EMA, for one number type. */
#include "layers/ema/ema_internal.h"
#include "core/arith.h"

static const ema_plan *own(const ssm2d_plan *plan) { return (const ema_plan *)plan; }

/* Algorithm 0 is the recurrence; the convolutions of src/conv follow. */
static const char *algorithm(int i) { return i ? conv_algorithm_name(i - 1) : "scan"; }

static ssm2d_status plan(ssm2d_plan *base, int i, ssm2d_error *error)
{
    ema_plan *p = (ema_plan *)base;
    ema_decays_make(p);
    return i ? ema_conv_make(p, error) : ema_scan_make(p, error);
}

static double cost(const ssm2d_plan *p)
{
    return own(p)->conv ? conv_plan_cost(own(p)->conv) : ema_scan_cost(own(p));
}

static ssm2d_status finish(ssm2d_plan *p, ssm2d_error *error)
{
    return own(p)->conv ? conv_plan_finish(own(p)->conv, error) : SSM2D_OK;
}

static void release(ssm2d_plan *p) { conv_plan_destroy(own(p)->conv); }

static int kernel_shape(const ssm2d_plan *p, size_t shape[SSM2D_KERNEL_RANK])
{
    shape[0] = (size_t)own(p)->directions * (size_t)p->channels;
    shape[1] = own(p)->taps;
    return 2;
}

static void prepare(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params)
{
    ema_decays_prepare(own(p), ws, params);
    if (own(p)->conv) ema_conv_prepare(own(p), ws);
}

static void apply(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, void *y)
{
    (own(p)->conv ? ema_conv_apply : ema_scan_apply)(own(p), ws, u, y);
}

static void backward(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    const ema_plan *p = own(base);
    (p->conv ? ema_conv_backward : ema_scan_backward)(p, ws, u, dy, du, dparams != NULL);
    if (dparams) ema_decays_adjoint(p, ws, params, dparams);
}

/* k[t] = sum over states of c*q^t, with powers computed in double. */
static void kernel(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, void *out)
{
    const ema_plan *p = own(base);
    const size_t lanes = (size_t)p->base.lanes, W = (size_t)p->states;
    real *k = out;
    ema_decays_prepare(p, ws, params);
    for (size_t r = 0; r < (size_t)p->directions; r++)
        for (size_t h = 0; h < (size_t)p->base.channels; h++, k += p->taps) {
            const real *q = REGION_AT(real, ws, p->decays) + h / lanes * ema_decays_size(p)
                            + 2 * r * W * lanes + h % lanes;
            for (size_t t = 0; t < p->taps; t++) k[t] = 0;
            for (size_t n = 0; n < W; n++) {
                double power = (double)q[(W + n) * lanes];
                for (size_t t = 0; t < p->taps; t++) {
                    k[t] += (real)power;
                    power *= (double)q[n * lanes];
                }
            }
        }
}

const layer_functions ema_functions_table = {.size = sizeof(real),
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
