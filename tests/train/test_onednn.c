/* Linear in training with the matrix products of another library: equal to our own, the same bits
 * for any number of threads; when the library is out of memory this is reported, while planning or
 * after a run; and signals during a product are harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"
#include "ops/ops.h"
#include "problem.h"
#include "train/onednn.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

static ssm2d_error error;

typedef struct shape {
    size_t m, n, k;
    int has_bias, strided;
} shape;

static const shape shapes[] = {{5, 7, 3, 1, 0},       {130, 72, 48, 0, 0}, {700, 96, 50, 1, 0},
                               {2100, 192, 96, 1, 0}, {97, 10, 200, 1, 1}, {1, 1, 1, 1, 0},
                               {3000, 33, 64, 0, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct result {
    size_t y_count, count;
    float *y, *grads; /* of w, the bias, x */
    int out_of_memory;
} result;

/* Computes this many products, and then reports out of memory. */
static _Atomic int products_left;

static int some_products(const sgemm_args *args)
{
    return atomic_fetch_sub(&products_left, 1) > 0 && onednn_sgemm(args);
}

/* y = linear(x w^T + b). */
static ssm2d_status build_linear(const shape *s, graph *g, sgemm_function *sgemm, tensor **out)
{
    const size_t wide = s->strided ? s->k + 5 : s->k;
    assert_int_equal(onednn_start(g->context, &error), SSM2D_OK);
    g->sgemm = sgemm;
    const param_spec rows = {.rank = 2, .shape = {s->m, wide}}, bias = {.rank = 1, .shape = {s->n}},
                     weights = {.rank = 2, .shape = {s->n, s->k}};
    tensor *w = graph_param(g, &weights, "w"), *b = graph_param(g, &bias, "b"),
           *x = scale(g, graph_param(g, &rows, "x"), 1);
    if (s->strided) x = columns(g, x, 2, s->k);
    *out = linear(g, x, w, s->has_bias ? b : NULL);
    return graph_finish(g, *out, &error);
}

/* y, and the gradients for dy = y, added to ones. After planning, sgemm computes as many products
 * as `left` says. */
static result run_linear_with(const shape *s, int threads, sgemm_function *sgemm, int left)
{
    ssm2d_context *c = context_of(threads);
    graph *g;
    tensor *y;
    assert_int_equal(graph_create(c, 1, &g, &error), SSM2D_OK);
    products_left = INT_MAX;
    if (build_linear(s, g, sgemm, &y)) fail_msg("%s", error.line);
    products_left = left;
    result r = {.y_count = y->count, .count = g->param_count};
    float *params = calloc(r.count, sizeof *params);
    r.y = calloc(r.y_count, sizeof *r.y);
    r.grads = calloc(r.count, sizeof *r.grads);
    rng random = rng_seed(7);
    for (size_t i = 0; i < r.count; i++) {
        params[i] = (float)rng_uniform(&random, -1, 1);
        r.grads[i] = 1;
    }
    graph_bind(g, params, r.grads);
    graph_forward(g);
    memcpy(r.y, y->data, r.y_count * sizeof *r.y);
    memcpy(y->grad, r.y, r.y_count * sizeof *r.y);
    graph_backward(g);
    r.out_of_memory = g->out_of_memory;
    graph_destroy(g);
    ssm2d_context_destroy(c);
    free(params);
    return r;
}

static result run_linear(const shape *s, int threads, sgemm_function *sgemm)
{
    return run_linear_with(s, threads, sgemm, INT_MAX);
}

static void result_free(result *r)
{
    free(r->y);
    free(r->grads);
}

static double distance(const float *a, const float *b, size_t count)
{
    double most = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return most / largest;
}

static void assert_near(const result *a, const result *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(distance(a->y, b->y, a->y_count) < 2e-6);
    assert_true(distance(a->grads, b->grads, a->count) < 4e-6);
}

static void assert_same(const result *a, const result *b)
{
    assert_memory_equal(a->y, b->y, a->y_count * sizeof *a->y);
    assert_memory_equal(a->grads, b->grads, a->count * sizeof *a->grads);
}

static void test_products_agree_with_our_own(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        result own = run_linear(&shapes[i], 2, NULL),
               theirs = run_linear(&shapes[i], 1, onednn_sgemm);
        assert_near(&theirs, &own);
        for (int threads = 2; threads <= 7; threads += 5) {
            result again = run_linear(&shapes[i], threads, onednn_sgemm);
            assert_same(&again, &theirs);
            result_free(&again);
        }
        result_free(&own);
        result_free(&theirs);
    }
}

/* Products that a run of a shape has, counted by a run. */
static int count_products(const shape *s)
{
    result r = run_linear_with(s, 1, some_products, INT_MAX);
    const int count = INT_MAX - products_left;
    assert_false(r.out_of_memory);
    result_free(&r);
    return count;
}

/* A run whose last product is out of memory reports it, as does one whose first is; one that
 * computes all products succeeds. */
static void test_run_reports_out_of_memory(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const int count = count_products(&shapes[i]);
        result whole = run_linear(&shapes[i], 1, onednn_sgemm);
        for (int left = 0; left <= count; left += count > 1 ? count - 1 : 1) {
            result r = run_linear_with(&shapes[i], 3, some_products, left);
            assert_int_equal(r.out_of_memory, left < count);
            result_free(&r);
        }
        result all = run_linear_with(&shapes[i], 3, some_products, count);
        assert_false(all.out_of_memory);
        assert_same(&all, &whole);
        result_free(&all);
        result_free(&whole);
    }
}

/* Planning computes a product of each shape, and fails when it cannot. */
static void test_planning_reports_out_of_memory(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        if (!count_products(&shapes[i])) continue; /* this instruction set needs none */
        int status = 0, tried = 0;
        do {
            ssm2d_context *c = context_of(1);
            graph *g;
            tensor *y;
            assert_int_equal(graph_create(c, 1, &g, &error), SSM2D_OK);
            products_left = tried++;
            status = build_linear(&shapes[i], g, some_products, &y);
            if (status) {
                assert_int_equal(status, SSM2D_ERROR_MEMORY);
                assert_non_null(strstr(error.line, "out of memory: matrix products of"));
            }
            graph_destroy(g);
            ssm2d_context_destroy(c);
        } while (status);
        assert_true(tried > 1);
    }
}

/* The caller's number of OpenMP threads is restored. */
static void test_openmp_thread_count_is_restored(void **state)
{
    (void)state;
    void (*set)(int);
    int (*get)(void);
    float a = 2, b = 3, c = 1;
    const sgemm_args args = {.m = 1,
                             .n = 1,
                             .k = 1,
                             .a = &a,
                             .b = &b,
                             .c = &c,
                             .a_row = 1,
                             .b_row = 1,
                             .c_row = 1,
                             .adds = 1};
    *(void **)&set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *(void **)&get = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    if (set) set(3);
    assert_true(onednn_sgemm(&args));
    assert_float_equal(c, 7, 0);
    if (get) assert_int_equal(get(), 3);
}

static const char *frame;                              /* of the function that computes */
static volatile sig_atomic_t alarms, alarms_elsewhere; /* elsewhere: not on the thread's stack */

static void on_alarm(int number)
{
    (void)number;
    const char *here = __builtin_frame_address(0);
    alarms = alarms + 1;
    if (here > frame || frame - here > 1 << 20) alarms_elsewhere = alarms_elsewhere + 1;
}

/* oneDNN's code moves the stack pointer into the heap. A handler that ran there would overwrite the
 * heap, so none may run before the product is done. */
static void test_signals_do_not_reach_products(void **state)
{
    (void)state;
    enum { SIDE = 200 };
    float *a = calloc(3 * SIDE * SIDE, sizeof *a);
    sgemm_args args = {
        .m = SIDE, .n = SIDE, .k = SIDE, .a_row = SIDE, .b_row = SIDE, .c_row = SIDE};
    args.a = a;
    args.b = a + SIDE * SIDE;
    args.c = a + 2 * SIDE * SIDE;
    frame = __builtin_frame_address(0);
    struct sigaction before, action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    sigset_t mask_before, mask_after;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int i = 0; i < 4000 && (i < 400 || alarms < 100); i++) {
        args.a_transposed = i & 1;
        args.b_transposed = i >> 1 & 1;
        assert_true(onednn_sgemm(&args));
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    assert_true(alarms > 0);
    assert_int_equal(alarms_elsewhere, 0);
    assert_int_equal(sigismember(&mask_after, SIGALRM), sigismember(&mask_before, SIGALRM));
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products_agree_with_our_own),
                                       cmocka_unit_test(test_run_reports_out_of_memory),
                                       cmocka_unit_test(test_planning_reports_out_of_memory),
                                       cmocka_unit_test(test_openmp_thread_count_is_restored),
                                       cmocka_unit_test(test_signals_do_not_reach_products)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
