/* What is kept for backward in bfloat16 (keep, keep_narrow): the same bits as conversions between
 * the operators, on any number of threads, in less memory. */
#include "graph_fixture.h"
#include "graph_helpers.h"

#include "ops/ops.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 21, HIDDEN = 35, MOST_ROWS = 700, PARAMS = MOST_ROWS * WIDTH + 3 * HIDDEN * WIDTH };

typedef enum way {
    EXACT,        /* nothing is rounded */
    CONVERTED,    /* by operators of their own */
    KEPT,         /* by what the models use */
    KEPT_FLAGLESS /* the same in a graph that does not ask for it */
} way;

typedef struct outcome {
    real y[MOST_ROWS * WIDTH], grads[PARAMS];
    size_t bytes;
} outcome;

static tensor *rounded(graph *g, tensor *x)
{
    return convert_to(g, convert_to(g, x, ELEMENT_BFLOAT16, 0), ELEMENT_REAL, 0);
}

/* y = x2 + fc2(gelu(fc1(x2))), x2 = x + x: as a block of a model. */
static tensor *block(graph *g, way how, size_t rows)
{
    tensor *x = graph_param(g, spec_of(2, (size_t[]){rows, WIDTH}), "x"),
           *w1 = graph_param(g, spec_of(2, (size_t[]){HIDDEN, WIDTH}), "w1"),
           *b1 = graph_param(g, spec_of(1, (size_t[]){HIDDEN}), "b1"),
           *w2 = graph_param(g, spec_of(2, (size_t[]){WIDTH, HIDDEN}), "w2");
    x = scale(g, x, 2);
    tensor *from = how == CONVERTED ? rounded(g, x) : how == EXACT ? x : keep(g, x);
    tensor *y = linear(g, from, w1, b1);
    y = how == CONVERTED ? rounded(g, y) : how == EXACT ? y : keep_narrow(g, y);
    if (how == KEPT) assert_int_equal(y->type, ELEMENT_BFLOAT16);
    if (how == KEPT_FLAGLESS) assert_int_equal(y->type, ELEMENT_REAL);
    y = linear(g, gelu(g, y), w2, NULL);
    return add(g, x, how == CONVERTED ? rounded(g, y) : how == EXACT ? y : keep(g, y));
}

static void train_once(int threads, way how, size_t rows, outcome *o)
{
    static real params[PARAMS];
    ssm2d_context *context = context_of(threads);
    graph *g = graph_of(context, 1);
    g->keeps_bfloat16 = how == KEPT;
    tensor *y = block(g, how, rows);
    finish(g, y);
    memset(o, 0, sizeof *o);
    for (int i = 0; i < PARAMS; i++) params[i] = (real)(sin(0.7 * i + 0.01 * (i % 91)) * 1.3);
    graph_bind(g, params, o->grads);
    graph_forward(g);
    memcpy(o->y, y->data, y->count * sizeof *o->y);
    for (size_t i = 0; i < y->count; i++) y->grad[i] = (real)(1 + i % 7) / 8;
    graph_backward(g);
    o->bytes = g->bytes;
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

/* Rows that tasks do not cut, that they cut, and more than are rounded at once. */
static void kept_values_are_converted_ones(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 47, 49, 255, 256, 300, MOST_ROWS};
    static outcome exact, want, got;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int threads = 1; threads <= 4; threads++) {
            train_once(threads, CONVERTED, counts[i], &want);
            train_once(threads, KEPT, counts[i], &got);
            assert_memory_equal(got.y, want.y, sizeof want.y);
            assert_memory_equal(got.grads, want.grads, sizeof want.grads);
            train_once(threads, EXACT, counts[i], &exact);
            assert_true(memcmp(got.y, exact.y, sizeof exact.y) != 0);
            train_once(threads, KEPT_FLAGLESS, counts[i], &got);
            assert_memory_equal(got.y, exact.y, sizeof exact.y);
            assert_memory_equal(got.grads, exact.grads, sizeof exact.grads);
        }
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    static outcome one, more;
    train_once(1, KEPT, MOST_ROWS, &one);
    for (int threads = 2; threads <= 4; threads++) {
        train_once(threads, KEPT, MOST_ROWS, &more);
        assert_memory_equal(more.y, one.y, sizeof one.y);
        assert_memory_equal(more.grads, one.grads, sizeof one.grads);
    }
}

/* What is kept for many blocks takes half the memory. */
static void less_memory_is_planned(void **state)
{
    (void)state;
    enum { BLOCKS = 12 };
    size_t bytes[2];
    for (int keeps = 0; keeps < 2; keeps++) {
        ssm2d_context *context = context_of(1);
        graph *g = graph_of(context, 1);
        g->keeps_bfloat16 = keeps;
        tensor *x = graph_param(g, spec_of(2, (size_t[]){512, 64}), "x"),
               *w = graph_param(g, spec_of(2, (size_t[]){64, 64}), "w");
        for (int i = 0; i < BLOCKS; i++) x = gelu(g, keep_narrow(g, linear(g, x, w, NULL)));
        finish(g, x);
        bytes[keeps] = g->bytes;
        graph_destroy(g);
        ssm2d_context_destroy(context);
    }
    const size_t saved = BLOCKS * 512 * 64 * (sizeof(real) - 2);
    assert_true(bytes[1] < bytes[0] - saved * 3 / 4);
}

static void inference_refuses(void **state)
{
    (void)state;
    ssm2d_error error;
    ssm2d_context *context = context_of(1);
    graph *g = graph_of(context, 0);
    tensor *x = graph_input(g, "x", 2, (size_t[]){3, WIDTH}),
           *w = graph_param(g, spec_of(2, (size_t[]){HIDDEN, WIDTH}), "w");
    tensor *y = graph_set_type(g, linear(g, x, w, NULL), ELEMENT_BFLOAT16, 0);
    assert_int_equal(graph_finish(g, y, &error), SSM2D_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.line, "training only"));
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_values_are_converted_ones), cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(less_memory_is_planned), cmocka_unit_test(inference_refuses)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
