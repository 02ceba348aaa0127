/* S4ND and EMA: accumulation of gradients, known properties of their kernels, systems with extreme
 * values, and refusals. */
#include "baseline_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each of du and dparams may be left out, and both are added to. */
static void gradients_are_added(void **state)
{
    (void)state;
    rng r = rng_seed(6);
    const ssm2d_layer configs[] = {s4nd_of(5, 2, 4, 1), ema_of(5, 3, 1, 1, 0)};
    ssm2d_context *context = context_of(1);
    for (int i = 0; i < 2; i++) {
        trial t = trial_make(configs[i], 2, 4, 3, &r);
        const char *algorithm;
        for (int k = 0; (algorithm = algorithm_for(&t, &k)); k++) {
            answer a = run_trial(context, &t, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
            ssm2d_plan *plan = plan_for(context, &t, SSM2D_DOUBLE, algorithm, DENSE, DENSE, 0);
            ssm2d_workspace *ws = workspace_for(plan);
            double *y = doubles(t.grid.cells), *du = doubles(t.grid.cells);
            double *dparams = doubles(t.total);
            plan_forward(plan, ws, t.params, t.u, y);
            for (int times = 0; times < 2; times++) {
                plan_backward(plan, ws, t.params, t.u, t.dy, du, NULL);
                plan_backward(plan, ws, t.params, t.u, t.dy, NULL, dparams);
            }
            for (size_t n = 0; n < t.grid.cells; n++) du[n] /= 2;
            for (size_t n = 0; n < t.total; n++) dparams[n] /= 2;
            assert_int_equal(differs("du twice", du, a.du, t.grid.cells, 1e-14), 0);
            assert_int_equal(params_differ(&t, "twice", dparams, a.dparams, 1e-14), 0);
            free(y), free(du), free(dparams);
            ssm2d_workspace_destroy(ws);
            ssm2d_plan_destroy(plan);
            answer_free(&a);
        }
        trial_free(&t);
    }
    ssm2d_context_destroy(context);
}

/* The rank of S4ND's kernel is 1: all 2 x 2 minors vanish. */
static void s4nd_kernel_is_separable(void **state)
{
    (void)state;
    rng r = rng_seed(8);
    ssm2d_context *context = context_of(1);
    trial t = trial_make(s4nd_of(3, 3, 8, 1), 1, 5, 4, &r);
    answer a = run_trial(context, &t, SSM2D_DOUBLE, NULL, DENSE, DENSE);
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; i < 8; i++)
            for (size_t j = 0; j < 6; j++) {
                const double *k = a.kernel + (s * 9 + i) * 7 + j;
                assert_true(fabs(k[0] * k[8] - k[1] * k[7]) <= 1e-13);
            }
    answer_free(&a);
    trial_free(&t);
    ssm2d_context_destroy(context);
}

/* A = 0, by which the formula divides, and a system that overflows in float though its taps do
 * not. */
static void s4nd_takes_extreme_systems(void **state)
{
    (void)state;
    rng r = rng_seed(9);
    ssm2d_context *context = context_of(1);
    trial t = trial_make(s4nd_of(2, 1, 2, 1), 1, 3, 3, &r);
    for (size_t i = 2; i < 6; i++) t.params[i] = i < 4 ? -1000 : 0; /* A_re, A_im */
    answer a = run_trial(context, &t, SSM2D_DOUBLE, NULL, DENSE, DENSE);
    const double dt0 = exp(t.params[0]), dt1 = exp(t.params[1]);
    /* k = 2*dt*Re(C) at every offset of a side */
    const double centre = 4 * dt0 * t.params[6] * dt1 * t.params[10];
    assert_true(fabs(a.kernel[12] - centre) <= 1e-14 * fabs(centre));
    for (size_t i = 0; i < t.total; i++) assert_true(isfinite(a.dparams[i]));
    answer_free(&a);
    trial_free(&t);
    ssm2d_context_destroy(context);
}

/* exp(A_re) overflows: the state has decayed before the first cell, and D is left. */
static void s4nd_takes_fast_decay(void **state)
{
    (void)state;
    static const double a_re[] = {200, 700, 710, 1000, 1e30}, a_im[] = {0, 1e37, -3e38};
    rng r = rng_seed(10);
    ssm2d_context *context = context_of(1);
    trial t = trial_make(s4nd_of(2, 1, 2, 1), 1, 70, 3, &r);
    for (int i = 0; i < 15; i++)
        for (int type = 0; type < 2; type++) {
            t.params[2] = t.params[3] = (double)(float)a_re[i / 3];
            t.params[4] = t.params[5] = (double)(float)a_im[i % 3];
            answer a = run_trial(context, &t, (ssm2d_type)type, NULL, DENSE, DENSE);
            for (size_t k = 0; k < t.grid.cells; k++) {
                const double want = t.params[t.total - 2 + k % 2] * t.u[k];
                assert_true(fabs(a.y[k] - want) <= 1e-6 * fabs(want));
                assert_true(isfinite(a.du[k]));
            }
            for (size_t k = 0; k < t.total; k++) assert_true(isfinite(a.dparams[k]));
            answer_free(&a);
        }
    trial_free(&t);
    ssm2d_context_destroy(context);
}

static void refusals_say_why(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_error error;
    ssm2d_plan *plan;
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.grid = ssm2d_grid_2d(4, 4);
    ssm2d_layer c = s4nd_of(8, 2, 7, 1);
    assert_int_equal(layer_check(&c, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "d_state=7", "even");
    c = s4nd_of(0, 2, 8, 1);
    assert_int_equal(layer_check(&c, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "channels=0", "use");
    ssm2d_layer *layer;
    assert_int_equal(ssm2d_layer_create(context, "s4md", "channels=8", &layer, &error),
                     SSM2D_ERROR_ARGUMENT);
    says(&error, "kind=s4md", "did you mean s4nd?");
    c = ema_of(8, 2, 1, 1, 3);
    o.algorithm = "scan";
    assert_int_equal(ssm2d_plan_create(context, &c, &o, &plan, &error), SSM2D_ERROR_UNSUPPORTED);
    says(&error, "trunc=3", "fft");
    o.algorithm = "quick";
    assert_int_equal(ssm2d_plan_create(context, &c, &o, &plan, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "algorithm=quick", "scan");
    o.algorithm = NULL;
    o.max_bytes = 64;
    assert_int_equal(ssm2d_plan_create(context, &c, &o, &plan, &error), SSM2D_ERROR_UNSUPPORTED);
    says(&error, "max_bytes=64", "workspace");
    o.max_bytes = 0;
    o.measure = 1;
    assert_int_equal(ssm2d_plan_create(context, &c, &o, &plan, &error), SSM2D_OK);
    ssm2d_plan_destroy(plan);
    double params[4 * 2 * 16 + 8];
    assert_int_equal(ssm2d_layer_param_count(&c), sizeof params / sizeof *params);
    assert_int_equal(ssm2d_layer_create(context, "ema", "channels=8 init=identity", &layer, &error),
                     SSM2D_ERROR_ARGUMENT);
    says(&error, "ema has no setting", "init");
    assert_int_equal(ssm2d_params_init_double(&c, 0, params, &error), SSM2D_OK);
    params[33] = NAN;
    assert_int_equal(ssm2d_params_check_double(&c, params, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "delta[1]", "finite");
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_added), cmocka_unit_test(s4nd_kernel_is_separable),
        cmocka_unit_test(s4nd_takes_extreme_systems), cmocka_unit_test(s4nd_takes_fast_decay),
        cmocka_unit_test(refusals_say_why)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
