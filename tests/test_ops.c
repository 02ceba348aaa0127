/* Every operator of ops.def, through real graphs: gradients against central differences in double,
 * float against double, and the same bits for any number of threads. */
#include "op_checks.h"
#include "problem.h"

#include "core/context.h"
#include "ops/simd/simd_ops.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {
#define OP(name, ...) #name,
#include "ops/ops.def"
#undef OP
};

enum { OPS = sizeof ops / sizeof *ops };

static void every_op_has_an_example(void **state)
{
    (void)state;
    for (int i = 0; i < OPS; i++)
        if (!trial_f32.variants(ops[i])) fail_msg("%s has no example in op_examples_*.c", ops[i]);
}

/* Of operators that round, test_convert.c checks the gradient. */
static void gradients_are_slopes(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < OPS; i++)
        if (!trial_f64.rounds(ops[i])) wrong += op_gradients_wrong(&trial_f64, context, ops[i]);
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

typedef struct result {
    double *out, *grad;
} result;

static result result_of(const trial_functions *f, trial *t, const trial_values *n)
{
    result r = {doubles(t->out_count), doubles(t->param_count)};
    f->run(t, n->params, n->dout, r.out, r.grad);
    return r;
}

static void result_free(result *r)
{
    free(r->out);
    free(r->grad);
}

static void float_is_close_to_double(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < OPS; i++)
        for (int v = 0; v < trial_f64.variants(ops[i]); v++)
            for (int mode = 0; mode < TRIAL_MODES; mode++) {
                trial *narrow = trial_f32.open(context, ops[i], v, (trial_mode)mode);
                trial *wide = trial_f64.open(context, ops[i], v, (trial_mode)mode);
                trial_values n = trial_values_for(wide);
                result got = result_of(&trial_f32, narrow, &n),
                       want = result_of(&trial_f64, wide, &n);
                wrong +=
                    differs(trial_title(ops[i], v, mode), got.out, want.out, wide->out_count, 4e-6);
                for (int k = 0; k < wide->tensors; k++)
                    wrong += differs(trial_title(ops[i], v, mode), got.grad + wide->offset[k],
                                     want.grad + wide->offset[k], wide->count[k], 2e-5);
                result_free(&got);
                result_free(&want);
                trial_values_free(&n);
                trial_f32.close(narrow);
                trial_f64.close(wide);
            }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static int acts_in_training(const char *op)
{
    return !strncmp(op, "drop", 4) || !strcmp(op, "batch_norm");
}

/* Inference may take other paths; what it caches of the parameters must follow them. */
static void inference_equals_forward_of_training(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < OPS; i++)
        for (int v = 0; !acts_in_training(ops[i]) && v < trial_f32.variants(ops[i]); v++) {
            trial *training = trial_f32.open(context, ops[i], v, OF_PARAMS);
            trial *inference = trial_f32.open(context, ops[i], v, INFERENCE);
            trial_values n = trial_values_for(training);
            double *got = doubles(training->out_count), *want = doubles(training->out_count);
            for (int times = 0; times < 3; times++) {
                trial_f32.run(training, n.params, NULL, want, NULL);
                trial_f32.run(inference, n.params, NULL, got, NULL);
                wrong += differs(trial_title(ops[i], v, INFERENCE), got, want, training->out_count,
                                 4e-6);
                for (size_t k = 0; k < training->param_count; k++) n.params[k] *= 0.75;
            }
            free(got);
            free(want);
            trial_values_free(&n);
            trial_f32.close(training);
            trial_f32.close(inference);
        }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static void thread_count_changes_no_bit(void **state)
{
    (void)state;
    const trial_functions *const types[] = {&trial_f32, &trial_f64};
    ssm2d_context *contexts[4];
    int wrong = 0;
    for (int threads = 0; threads < 4; threads++) contexts[threads] = context_of(threads + 1);
    for (int type = 0; type < 2; type++)
        for (int i = 0; i < OPS; i++)
            for (int v = 0; v < trial_f64.variants(ops[i]); v++) {
                result want = {NULL, NULL};
                for (int threads = 0; threads < 4; threads++) {
                    trial *t = types[type]->open(contexts[threads], ops[i], v, OF_SHARED_VALUES);
                    trial_values n = trial_values_for(t);
                    result got = result_of(types[type], t, &n);
                    if (threads == 0) {
                        want = got;
                    } else {
                        wrong += bits_differ(trial_title(ops[i], v, OF_SHARED_VALUES), got.out,
                                             want.out, t->out_count);
                        wrong += bits_differ(trial_title(ops[i], v, OF_SHARED_VALUES), got.grad,
                                             want.grad, t->param_count);
                        result_free(&got);
                    }
                    trial_values_free(&n);
                    types[type]->close(t);
                }
                result_free(&want);
            }
    for (int threads = 0; threads < 4; threads++) ssm2d_context_destroy(contexts[threads]);
    assert_int_equal(wrong, 0);
}

/* GELU and its slope against erfc in double. The tail keeps its leading digits; what is lost comes
 * from rounding x^2. */
static void gelu_uses_exact_erf(void **state)
{
    (void)state;
    enum { COUNT = 4099 }; /* not a whole number of vectors */
    const double root_half = sqrt(0.5), top = 1 / sqrt(8 * atan(1));
    ssm2d_context *context = context_of(1);
    const simd_ops *simd = simd_ops_for(context->cpu);
    float *x = calloc(COUNT, sizeof *x), *y = calloc(COUNT, sizeof *y),
          *dx = calloc(COUNT, sizeof *dx), *dy = calloc(COUNT, sizeof *dy);
    assert_true(x && y && dx && dy);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)((i - COUNT / 2) * (12.0 / (COUNT / 2)));
        dy[i] = 1;
    }
    const float unusual[] = {-INFINITY, -FLT_MAX, -40, -0.0f, FLT_MIN, 40, FLT_MAX, INFINITY, NAN};
    const int more = sizeof unusual / sizeof *unusual;
    memcpy(x, unusual, sizeof unusual);
    simd->gelu(y, x, COUNT);
    simd->gelu_back(dx, dy, x, COUNT, 0);
    for (int i = more; i < COUNT; i++) {
        const double a = x[i], below = 0.5 * erfc(-a * root_half),
                     slope = below + a * top * exp(-a * a / 2);
        const double wrong = fabs(y[i] - a * below) / (fabs(a * below) + 1e-30),
                     slope_wrong = fabs(dx[i] - slope);
        if (wrong > 6e-7 + 1.2e-7 * a * a || slope_wrong > 6e-7)
            fail_msg("gelu(%g) is %.9g, not %.9g; its slope %.9g, not %.9g", a, y[i], a * below,
                     dx[i], slope);
    }
    for (int i = 0; i < 3; i++) assert_true(fabsf(y[i]) < 1e-30f && fabsf(dx[i]) < 1e-30f);
    assert_true(fabsf(y[3]) <= 0 && fabsf(dx[3] - 0.5f) < 1e-6f);
    for (int i = 5; i < 8; i++) assert_true(y[i] == x[i] && fabsf(dx[i] - 1) <= 0);
    assert_true(isnan(y[8]) && isnan(dx[8]));
    free(x);
    free(y);
    free(dx);
    free(dy);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_an_example),
                                       cmocka_unit_test(gradients_are_slopes),
                                       cmocka_unit_test(float_is_close_to_double),
                                       cmocka_unit_test(inference_equals_forward_of_training),
                                       cmocka_unit_test(thread_count_changes_no_bit),
                                       cmocka_unit_test(gelu_uses_exact_erf)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
