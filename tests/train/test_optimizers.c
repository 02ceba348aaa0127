/* Every optimiser, the gradient's norm, the average of weights and the schedule, against plain
 * double code, on 1 to 4 threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"
#include "optim/flat.h"
#include "optim/optimizer.h"
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

static float *random_array(uint64_t seed, double scale)
{
    rng r = rng_seed(seed);
    float *x = malloc(COUNT * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < COUNT; i++) x[i] = (float)(scale * rng_normal(&r));
    return x;
}

static double lr_at(int t) { return 1e-3 * t; }

static const optimizer_settings settings = {
    .decay = 0.05, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .momentum = 0.8};

static int decays(size_t i) { return i < 7 || (i >= 20007 && i < 60008); }
static double lr_factor(size_t i) { return i >= 60008 && i < 60108 ? 0.25 : 1; }

/* STEPS updates with gradients that differ in size by the step; returns the weights. */
static float *run_float(int threads, const optimizer *o, const optimizer_settings *how,
                        double factor)
{
    ssm2d_context *context = make(threads);
    float *m = calloc(COUNT, sizeof *m), *v = calloc(COUNT, sizeof *v);
    optimizer_step step = {.settings = *how,
                           .factor = factor,
                           .count = COUNT,
                           .span_count = SPANS,
                           .spans = spans,
                           .weights = random_array(1, 1),
                           .arrays = {m, v}};
    for (int t = 1; t <= STEPS; t++) {
        float *g = random_array(100 + (uint64_t)t, pow(10, t % 5 - 3));
        step.gradients = g;
        step.lr = lr_at(t);
        step.t = t;
        optimizer_update(context, o, &step);
        free(g);
    }
    free(m);
    free(v);
    ssm2d_context_destroy(context);
    return step.weights;
}

/* One parameter and one step, in double: w and its state m, v; g is clipped already. */
typedef struct plain {
    double w, m, v;
} plain;

/* As in the paper of Loshchilov and Hutter. */
static void plain_adamw(plain *p, double g, double lr, double decay, int t, int nesterov)
{
    (void)nesterov;
    p->m = 0.9 * p->m + 0.1 * g;
    p->v = 0.999 * p->v + 0.001 * g * g;
    p->w -= lr * decay * p->w;
    p->w -= lr * p->m / (1 - pow(0.9, t)) / (sqrt(p->v / (1 - pow(0.999, t))) + 1e-8);
}

/* As torch.optim.SGD documents it. */
static void plain_sgd(plain *p, double g, double lr, double decay, int t, int nesterov)
{
    g += decay * p->w;
    p->m = t > 1 ? 0.8 * p->m + g : g;
    p->w -= lr * (nesterov ? g + 0.8 * p->m : p->m);
}

/* As in the paper of Chen et al., Algorithm 2. */
static void plain_lion(plain *p, double g, double lr, double decay, int t, int nesterov)
{
    (void)t, (void)nesterov;
    const double c = 0.9 * p->m + 0.1 * g;
    p->w -= lr * ((c > 0) - (c < 0) + decay * p->w);
    p->m = 0.999 * p->m + 0.001 * g;
}

typedef struct subject {
    const char *name;
    void (*step)(plain *p, double g, double lr, double decay, int t, int nesterov);
    int nesterov;
} subject;

static const subject subjects[] = {{"adamw", plain_adamw, 0},
                                   {"sgd", plain_sgd, 0},
                                   {"sgd", plain_sgd, 1},
                                   {"lion", plain_lion, 0}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static const optimizer *named(const char *name)
{
    for (int i = 0; optimizer_names[i]; i++)
        if (!strcmp(optimizer_names[i], name)) return optimizer_at(i);
    return NULL;
}

static double *run_double(const subject *s, double factor)
{
    double *w = malloc(COUNT * sizeof *w);
    plain *p = calloc(COUNT, sizeof *p);
    float *start = random_array(1, 1);
    for (size_t i = 0; i < COUNT; i++) p[i].w = start[i];
    free(start);
    for (int t = 1; t <= STEPS; t++) {
        float *g = random_array(100 + (uint64_t)t, pow(10, t % 5 - 3));
        for (size_t i = 0; i < COUNT; i++)
            s->step(&p[i], factor * g[i], lr_at(t) * lr_factor(i), decays(i) ? 0.05 : 0, t,
                    s->nesterov);
        free(g);
    }
    for (size_t i = 0; i < COUNT; i++) w[i] = p[i].w;
    free(p);
    return w;
}

/* Lion's sign may differ where its argument is almost zero: such weights are left out. */
static void test_every_optimizer_agrees_with_double(void **state)
{
    (void)state;
    for (int k = 0; k < SUBJECTS; k++)
        for (int clipped = 0; clipped < 2; clipped++) {
            optimizer_settings how = settings;
            how.nesterov = subjects[k].nesterov;
            const double factor = clipped ? 0.37 : 1;
            float *w = run_float(2, named(subjects[k].name), &how, factor);
            double *expected = run_double(&subjects[k], factor), worst = 0;
            size_t apart = 0;
            for (size_t i = 0; i < COUNT; i++) {
                const double difference = fabs((double)w[i] - expected[i]);
                const int turned = !strcmp(subjects[k].name, "lion") && difference > 1e-3;
                apart += (size_t)turned;
                if (!turned) worst = fmax(worst, difference);
            }
            if (!(worst < 2e-6) || apart > COUNT / 10000)
                fail_msg("%s: weights differ by %g, %zu signs", subjects[k].name, worst, apart);
            free(w);
            free(expected);
        }
}

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    for (int k = 0; optimizer_at(k); k++) {
        float *one = run_float(1, optimizer_at(k), &settings, 1);
        for (int threads = 2; threads <= 4; threads++) {
            float *many = run_float(threads, optimizer_at(k), &settings, 1);
            assert_memory_equal(one, many, COUNT * sizeof *one);
            free(many);
        }
        free(one);
    }
}

/* Names are those of the option and of arrays in checkpoints. */
static void test_names_are_those_of_options_and_checkpoints(void **state)
{
    (void)state;
    int count = 0;
    for (; optimizer_at(count); count++) {
        const optimizer *o = optimizer_at(count);
        int tested = 0;
        assert_string_equal(o->name, optimizer_names[count]);
        assert_true(optimizer_arrays(o) <= OPTIMIZER_ARRAYS);
        for (int i = 0; i < optimizer_arrays(o); i++) {
            assert_string_not_equal(o->arrays[i], "weights");
            assert_string_not_equal(o->arrays[i], "average");
        }
        for (int i = 0; i < SUBJECTS; i++) tested |= !strcmp(subjects[i].name, o->name);
        if (!tested) fail_msg("%s has no plain reference here", o->name);
    }
    assert_null(optimizer_names[count]);
    assert_null(optimizer_at(-1));
}

static void test_decay_alone_shrinks_chosen_weights(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    float *w = random_array(3, 1), *before = random_array(3, 1),
          *zero = calloc(COUNT, sizeof *zero), *m = calloc(COUNT, sizeof *m),
          *v = calloc(COUNT, sizeof *v);
    optimizer_step step = {.settings = settings,
                           .lr = 0.1,
                           .t = 1,
                           .factor = 1,
                           .count = COUNT,
                           .span_count = SPANS,
                           .spans = spans,
                           .weights = w,
                           .gradients = zero,
                           .arrays = {m, v}};
    step.settings.decay = 0.5;
    optimizer_update(context, named("adamw"), &step);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(w[i] == (decays(i) ? (float)(1 - 0.1 * 0.5) * before[i] : before[i]));
    free(w);
    free(before);
    free(zero);
    free(m);
    free(v);
    ssm2d_context_destroy(context);
}

static void test_gradient_norm_does_not_depend_on_threads(void **state)
{
    (void)state;
    float *g = random_array(9, 3);
    double expected = 0, first = 0, *partial = malloc(flat_pieces(COUNT) * sizeof *partial);
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

static void test_average_is_exponential(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    float *w = random_array(5, 1), *e = random_array(6, 1), *before = random_array(6, 1);
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

static void test_schedule_follows_formula_by_steps(void **state)
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

static void test_schedule_follows_formula_by_epochs(void **state)
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
        cmocka_unit_test(test_every_optimizer_agrees_with_double),
        cmocka_unit_test(test_threads_change_no_bit),
        cmocka_unit_test(test_names_are_those_of_options_and_checkpoints),
        cmocka_unit_test(test_decay_alone_shrinks_chosen_weights),
        cmocka_unit_test(test_gradient_norm_does_not_depend_on_threads),
        cmocka_unit_test(test_average_is_exponential),
        cmocka_unit_test(test_schedule_follows_formula_by_steps),
        cmocka_unit_test(test_schedule_follows_formula_by_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
