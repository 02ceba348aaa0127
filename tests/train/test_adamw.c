/* AdamW, the gradient's norm, the average of weights and the schedule, against plain double code,
 * on 1 to 4 threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"
#include "train/adamw.h"
#include "train/schedule.h"

#include <math.h>

enum { COUNT = 70001, STEPS = 12 };

static const param_span spans[] = {
    {0, 7, 1, 1},         {7, 20000, 0, 1},      {20007, 1, 1, 1},
    {20008, 40000, 1, 1}, {60008, 100, 0, 0.25}, {60108, COUNT - 60108, 0, 1},
};
enum { SPANS = sizeof spans / sizeof *spans };

static ssm2d_context *make(int threads)
{
    ssm2d_context *context;
    assert_int_equal(
        ssm2d_context_create(
            &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = threads},
            &context, NULL),
        SSM2D_OK);
    return context;
}

static float *numbers(uint64_t seed, double scale)
{
    rng r = rng_seed(seed);
    float *x = malloc(COUNT * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < COUNT; i++) x[i] = (float)(scale * rng_normal(&r));
    return x;
}

static double lr_at(int t) { return 1e-3 * t; }

/* STEPS updates with gradients that differ in size by the place; returns the weights. */
static float *run_float(int threads, double factor)
{
    const adamw how = {0.9, 0.999, 1e-8, 0.05};
    ssm2d_context *context = make(threads);
    float *w = numbers(1, 1), *m = calloc(COUNT, sizeof *m), *v = calloc(COUNT, sizeof *v);
    for (int t = 1; t <= STEPS; t++) {
        float *g = numbers(100 + (uint64_t)t, pow(10, t % 5 - 3));
        adamw_update(context, &how, lr_at(t), t, factor, COUNT, spans, SPANS, w, g, m, v);
        free(g);
    }
    free(m);
    free(v);
    ssm2d_context_destroy(context);
    return w;
}

/* As in the paper of Loshchilov and Hutter, one number at a time. */
static double *run_double(double factor)
{
    double *w = malloc(COUNT * sizeof *w), *m = calloc(COUNT, sizeof *m),
           *v = calloc(COUNT, sizeof *v);
    float *start = numbers(1, 1);
    for (size_t i = 0; i < COUNT; i++) w[i] = start[i];
    free(start);
    for (int t = 1; t <= STEPS; t++) {
        float *g = numbers(100 + (uint64_t)t, pow(10, t % 5 - 3));
        for (size_t i = 0; i < COUNT; i++) {
            double x = factor * g[i];
            int decays = i < 7 || (i >= 20007 && i < 60008);
            m[i] = 0.9 * m[i] + 0.1 * x;
            v[i] = 0.999 * v[i] + 0.001 * x * x;
            double mean = m[i] / (1 - pow(0.9, t)), square = v[i] / (1 - pow(0.999, t));
            w[i] -= lr_at(t) * (decays ? 0.05 : 0) * w[i];
            w[i] -= lr_at(t) * (i >= 60008 && i < 60108 ? 0.25 : 1) * mean / (sqrt(square) + 1e-8);
        }
        free(g);
    }
    free(m);
    free(v);
    return w;
}

static void test_adamw_against_double(void **state)
{
    (void)state;
    for (int clipped = 0; clipped < 2; clipped++) {
        double factor = clipped ? 0.37 : 1, worst = 0;
        float *w = run_float(2, factor);
        double *expected = run_double(factor);
        for (size_t i = 0; i < COUNT; i++) worst = fmax(worst, fabs(w[i] - expected[i]));
        if (!(worst < 2e-6)) fail_msg("weights differ by %g", worst);
        free(w);
        free(expected);
    }
}

static void test_adamw_threads(void **state)
{
    (void)state;
    float *one = run_float(1, 1);
    for (int threads = 2; threads <= 4; threads++) {
        float *many = run_float(threads, 1);
        assert_memory_equal(one, many, COUNT * sizeof *one);
        free(many);
    }
    free(one);
}

static void test_decay_only(void **state)
{
    (void)state;
    const adamw how = {0.9, 0.999, 1e-8, 0.5};
    ssm2d_context *context = make(1);
    float *w = numbers(3, 1), *before = numbers(3, 1), *zero = calloc(COUNT, sizeof *zero),
          *m = calloc(COUNT, sizeof *m), *v = calloc(COUNT, sizeof *v);
    adamw_update(context, &how, 0.1, 1, 1, COUNT, spans, SPANS, w, zero, m, v);
    for (size_t i = 0; i < COUNT; i++) {
        int decays = i < 7 || (i >= 20007 && i < 60008);
        assert_true(w[i] == (decays ? (float)(1 - 0.1 * 0.5) * before[i] : before[i]));
    }
    free(w);
    free(before);
    free(zero);
    free(m);
    free(v);
    ssm2d_context_destroy(context);
}

static void test_norm(void **state)
{
    (void)state;
    float *g = numbers(9, 3);
    double expected = 0, first = 0, *partial = malloc(norm_pieces(COUNT) * sizeof *partial);
    for (size_t i = 0; i < COUNT; i++) expected += (double)g[i] * g[i];
    for (int threads = 1; threads <= 4; threads++) {
        ssm2d_context *context = make(threads);
        double norm = gradient_norm(context, COUNT, g, partial);
        assert_true(fabs(norm - sqrt(expected)) < 1e-12 * norm);
        if (threads == 1) first = norm;
        assert_true(norm == first);
        static const size_t places[] = {0, 5, 16384, COUNT - 1};
        for (size_t k = 0; k < 4; k++) {
            float was = g[places[k]];
            g[places[k]] = k & 1 ? INFINITY : NAN;
            assert_false(isfinite(gradient_norm(context, COUNT, g, partial)));
            g[places[k]] = 3e38f; /* large, but finite */
            assert_true(isfinite(gradient_norm(context, COUNT, g, partial)));
            g[places[k]] = was;
        }
        ssm2d_context_destroy(context);
    }
    free(partial);
    free(g);
}

static void test_average(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    float *w = numbers(5, 1), *e = numbers(6, 1), *before = numbers(6, 1);
    average_update(context, 0.75, COUNT, w, e);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(fabs(e[i] - (0.75 * before[i] + 0.25 * w[i])) < 1e-6);
    average_update(context, 0, COUNT, w, e);
    for (size_t i = 0; i < COUNT; i++) assert_true(fabsf(e[i] - w[i]) <= 1e-6f);
    free(w);
    free(e);
    free(before);
    ssm2d_context_destroy(context);
}

static void close_to(double x, double expected)
{
    if (!(fabs(x - expected) <= 1e-15)) fail_msg("%.17g instead of %.17g", x, expected);
}

static void test_schedule(void **state)
{
    (void)state;
    schedule s = {SCHEDULE_COSINE, 1e-3, 1e-6, 1e-5, 10, 110};
    close_to(schedule_at(&s, 0), 1e-6);
    close_to(schedule_at(&s, 5), 1e-6 + 0.5 * (1e-3 - 1e-6));
    close_to(schedule_at(&s, 10), 1e-3);
    close_to(schedule_at(&s, 60), (1e-3 + 1e-5) / 2);
    close_to(schedule_at(&s, 110), 1e-5);
    close_to(schedule_at(&s, 1000), 1e-5);
    for (long i = 1; i < 110; i++)
        assert_true(i <= 10 ? schedule_at(&s, i) > schedule_at(&s, i - 1)
                            : schedule_at(&s, i) < schedule_at(&s, i - 1));
    s.kind = SCHEDULE_CONSTANT;
    close_to(schedule_at(&s, 5), 1e-6 + 0.5 * (1e-3 - 1e-6));
    close_to(schedule_at(&s, 109), 1e-3);
    s.warmup = 0;
    close_to(schedule_at(&s, 0), 1e-3);
    schedule all = {SCHEDULE_COSINE, 1e-3, 0, 1e-5, 20, 20}; /* nothing but warm-up */
    close_to(schedule_at(&all, 10), 5e-4);
    close_to(schedule_at(&all, 20), 1e-5);
}

static void test_schedule_by_epochs(void **state)
{
    (void)state;
    /* a cosine that begins with the run, in units of 10 steps */
    schedule s = {SCHEDULE_COSINE, 1e-3, 1e-6, 1e-5, 20, 100, .from_start = 1, .unit = 10};
    close_to(schedule_at(&s, 9), 1e-6);
    close_to(schedule_at(&s, 10), 1e-6 + 0.5 * (1e-3 - 1e-6));
    close_to(schedule_at(&s, 19), schedule_at(&s, 10));
    close_to(schedule_at(&s, 50), (1e-3 + 1e-5) / 2);
    close_to(schedule_at(&s, 59), (1e-3 + 1e-5) / 2);
    close_to(schedule_at(&s, 99), schedule_at(&s, 90));
    close_to(schedule_at(&s, 100), 1e-5);
    assert_true(schedule_at(&s, 20) < 1e-3); /* the warm-up took the cosine's first part */
    s.from_start = 0;
    close_to(schedule_at(&s, 20), 1e-3);
    close_to(schedule_at(&s, 60), (1e-3 + 1e-5) / 2);
    s.kind = SCHEDULE_LINEAR;
    close_to(schedule_at(&s, 40), 1e-5 + (1e-3 - 1e-5) * 0.75);
    close_to(schedule_at(&s, 500), 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw_against_double),
        cmocka_unit_test(test_adamw_threads),
        cmocka_unit_test(test_decay_only),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_schedule_by_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
