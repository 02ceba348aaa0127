/* ema_execute - planning, forward and backward of EMA, for one number type. */
#include "baselines/ema_internal.h"
#include "core/arith.h"

static const void *bodies_for(cpu_level level, int *lanes)
{
    const simd_table *simd = simd_for(level);
    *lanes = simd->lanes;
    return simd;
}

/* The recurrence, then every convolution. */
static const char *algorithm(int i) { return i ? conv_algorithm_name(i - 1) : "scan"; }

static ssm2d_status plan(ssm2d_baseline_plan *p, int i, ssm2d_error *error)
{
    ema_decays_make(p);
    return i ? ema_conv_make(p, error) : ema_scan_make(p, error);
}

static double cost(const ssm2d_baseline_plan *p)
{
    return p->ema.conv ? conv_plan_cost(p->ema.conv) : ema_scan_cost(p);
}

static ssm2d_status finish(ssm2d_baseline_plan *p, ssm2d_error *error)
{
    return p->ema.conv ? conv_plan_finish(p->ema.conv, error) : SSM2D_OK;
}

static void release(ssm2d_baseline_plan *p) { conv_plan_destroy(p->ema.conv); }

static int kernel_shape(const ssm2d_baseline_plan *p, size_t shape[3])
{
    shape[0] = (size_t)p->ema.directions * (size_t)p->channels;
    shape[1] = p->ema.taps;
    return 2;
}

static void prepare(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *params)
{
    ema_decays_prepare(p, ws, params);
    if (p->ema.conv) ema_conv_prepare(p, ws);
}

static void apply(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *u,
                  void *y)
{
    (p->ema.conv ? ema_conv_apply : ema_scan_apply)(p, ws, u, y);
}

static void backward(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *params,
                     const void *u, const void *dy, void *du, void *dparams)
{
    (p->ema.conv ? ema_conv_backward : ema_scan_backward)(p, ws, u, dy, du, dparams != NULL);
    if (dparams) ema_decays_adjoint(p, ws, params, dparams);
}

/* k[t] = sum over states of c*q^t, with powers in double. */
static void kernel(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const void *params,
                   void *out)
{
    const size_t lanes = (size_t)p->lanes, W = (size_t)p->ema.states;
    real *k = out;
    ema_decays_prepare(p, ws, params);
    for (size_t r = 0; r < (size_t)p->ema.directions; r++)
        for (size_t h = 0; h < (size_t)p->channels; h++, k += p->ema.taps) {
            const real *q = BASELINE_REGION(real, ws, p->ema.decays)
                            + h / lanes * ema_decays_size(p) + 2 * r * W * lanes + h % lanes;
            for (size_t t = 0; t < p->ema.taps; t++) k[t] = 0;
            for (size_t n = 0; n < W; n++) {
                double power = (double)q[(W + n) * lanes];
                for (size_t t = 0; t < p->ema.taps; t++) {
                    k[t] += (real)power;
                    power *= (double)q[n * lanes];
                }
            }
        }
}

const baseline_functions ema_functions_table = {.size = sizeof(real),
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
