/* The convolution by itself, with arbitrary kernels: every algorithm, reach and layout against the
 * sums of conv.h, and the decisions of planning. Built for each element type. */
#include "conv/conv.h"
#include "conv/direct.h"
#include "core/arith.h"
#include "core/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rng generator = {.state = 4711};

static int below(int n) { return (int)(rng_next(&generator) >> 33) % n; }
static double tolerance(void) { return sizeof(real) == sizeof(double) ? 1e-13 : 1e-5; }

static real *random_array(size_t count)
{
    real *p = malloc((count + 1) * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < count; i++) p[i] = (real)rng_uniform(&generator, -1, 1);
    return p;
}

static ssm2d_context *context_of(int threads, const char *cpu)
{
    ssm2d_context_options options = {.size = sizeof options, .threads = threads, .cpu = cpu};
    ssm2d_context *context;
    ssm2d_error error;
    if (ssm2d_context_create(&options, &context, &error)) fail_msg("%s", error.line);
    return context;
}

/* Dense, channel-first, or from the last cell to the first; `start` is where cell (0, 0) is. */
static plane_strides strides_of(const conv_problem *q, int kind, size_t *start)
{
    const ptrdiff_t H = q->channels, R = q->rows, C = q->cols;
    *start = 0;
    if (kind == 0) return (plane_strides){R * C * H, C * H, H, 1};
    if (kind == 1) return (plane_strides){R * C * H, C, 1, R * C};
    *start = (size_t)(R * C - 1) * (size_t)H;
    return (plane_strides){R * C * H, -C * H, -H, 1};
}

static conv_problem random_problem(ssm2d_context *context)
{
    static const conv_reach none = {1, 0};
    conv_problem q = {.context = context,
                      .batch = 1 + (size_t)below(5),
                      .rows = 1 + below(9),
                      .cols = 1 + below(9),
                      .channels = 1 + below(20)};
    q.trunc_rows = 1 + below(q.rows);
    q.trunc_cols = 1 + below(q.cols);
    for (int s = 0; s < REACH_SIGNS; s++) {
        const int T = q.trunc_cols;
        const conv_reach kinds[] = {{1 - T, T - 1}, {0, T - 1}, {1 - T, 0}, none};
        q.reach[s] = kinds[below(4)];
    }
    return q;
}

static int sign_of(int d) { return d < 0 ? REACH_BEFORE : d > 0 ? REACH_AFTER : REACH_CENTRE; }
static int reached(const conv_problem *q, int d, int o)
{
    return o >= q->reach[sign_of(d)].low && o <= q->reach[sign_of(d)].high;
}

typedef struct arrays {
    size_t cells, start_in, start_out, kernels;
    real *u, *y, *dy, *du, *k2, *dk2;
} arrays;

static ptrdiff_t at(plane_strides s, size_t start, size_t b, int i, int j, int h)
{
    return (ptrdiff_t)start + (ptrdiff_t)b * s.batch + i * s.row + j * s.col + h * s.channel;
}

/* Adds the pair of cells (i, j) and (i-d, j-o) of image b to the three sums. */
static void pair(const conv_problem *q, const arrays *a, size_t b, int h, int i, int j, int d,
                 int o, double k, double *y, double *du, double *dk)
{
    const int p = i - d, c = j - o;
    if (p < 0 || p >= q->rows || c < 0 || c >= q->cols) return;
    const ptrdiff_t in = at(q->in, a->start_in, b, p, c, h);
    const ptrdiff_t out = at(q->out, a->start_out, b, i, j, h);
    y[out] += k * (double)a->u[in];
    du[in] += k * (double)a->dy[out];
    *dk += (double)a->u[in] * (double)a->dy[out];
}

static void near(const char *what, const real *got, const double *want, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - want[i]) <= tolerance() * scale))
            fail_msg("%s[%zu] is %g, not %g", what, i, (double)got[i], want[i]);
}

static void add_bias(const conv_problem *q, const arrays *a, const real *bias, double *y)
{
    for (size_t b = 0; b < q->batch; b++)
        for (int cell = 0; cell < q->rows * q->cols; cell++)
            for (int h = 0; h < q->channels; h++)
                y[at(q->out, a->start_out, b, cell / q->cols, cell % q->cols, h)] +=
                    (double)bias[h];
}

/* layouts: of in and out, by the index that strides_of takes; returns whether direct works in
 * place. */
static int run(conv_problem q, const char *algorithm, int layout_in, int layout_out)
{
    arrays a;
    ssm2d_error error;
    conv_plan *plan;
    q.in = strides_of(&q, layout_in, &a.start_in);
    q.out = strides_of(&q, layout_out, &a.start_out);
    if (conv_plan_draft(&q, algorithm, &plan, &error) || conv_plan_finish(plan, &error))
        fail_msg("%s", error.line);
    const two_sided *k = conv_plan_layout(plan);
    const size_t size = two_sided_size(k), vectors = (size_t)div_up(q.channels, k->lanes);
    a.cells = q.batch * (size_t)q.rows * (size_t)q.cols * (size_t)q.channels;
    a.u = random_array(a.cells), a.y = random_array(a.cells), a.dy = random_array(a.cells);
    a.du = random_array(a.cells);
    a.k2 = calloc(size * vectors, sizeof(real)), a.dk2 = calloc(size * vectors, sizeof(real));
    double *y = calloc(a.cells, sizeof *y), *du = calloc(a.cells, sizeof *du);
    double *dk = calloc(size * vectors, sizeof *dk);
    for (size_t i = 0; i < a.cells; i++) du[i] = (double)a.du[i];
    for (int h = 0; h < q.channels; h++)
        for (int d = 1 - q.trunc_rows; d < q.trunc_rows; d++)
            for (int o = 1 - q.trunc_cols; o < q.trunc_cols; o++) {
                if (!reached(&q, d, o)) continue;
                const size_t here = (size_t)(h / k->lanes) * size + (size_t)two_sided_at(k, d, o)
                                    + (size_t)(h % k->lanes);
                a.k2[here] = (real)rng_uniform(&generator, -1, 1);
                for (size_t b = 0; b < q.batch; b++)
                    for (int cell = 0; cell < q.rows * q.cols; cell++)
                        pair(&q, &a, b, h, cell / q.cols, cell % q.cols, d, o, (double)a.k2[here],
                             y, du, &dk[here]);
            }
    void *memory = mem_alloc(q.context, conv_plan_bytes(plan));
    assert_non_null(memory);
    real *bias = random_array(vectors * (size_t)k->lanes);
    const double scale = 4 * sqrt((double)a.cells + 10);
    for (int again = 0; again < 2; again++) {
        conv_prepare(plan, memory, a.k2);
        conv_apply(plan, memory, a.u + a.start_in, again ? bias : NULL, a.y + a.start_out);
        if (again) add_bias(&q, &a, bias, y);
        near("y", a.y, y, a.cells, scale);
    }
    conv_backward(plan, memory, a.k2, a.u + a.start_in, a.dy + a.start_out, a.du + a.start_in,
                  a.dk2);
    near("du", a.du, du, a.cells, scale);
    for (int h = 0; h < q.channels; h++)
        for (int d = 1 - q.trunc_rows; d < q.trunc_rows; d++)
            for (int o = 1 - q.trunc_cols; o < q.trunc_cols; o++) {
                const size_t here = (size_t)(h / k->lanes) * size + (size_t)two_sided_at(k, d, o)
                                    + (size_t)(h % k->lanes);
                if (reached(&q, d, o)) near("dk2", a.dk2 + here, dk + here, 1, scale);
            }
    mem_free(q.context, memory);
    const int in_place = !strcmp(algorithm, "direct") && direct_works_in_place(plan);
    conv_plan_destroy(plan);
    real *const used[] = {a.u, a.y, a.dy, a.du, a.k2, a.dk2, bias};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) free(used[i]);
    free(y), free(du), free(dk);
    return in_place;
}

static void algorithms_agree_with_the_definition(void **state)
{
    (void)state;
    for (int level = 0; level <= (int)cpu_best(); level++) {
        ssm2d_context *context = context_of(1 + level % 2, cpu_names[level]);
        for (int i = 0; i < 150; i++) {
            const conv_problem q = random_problem(context);
            for (int k = 0; conv_algorithm_name(k); k++)
                run(q, conv_algorithm_name(k), below(3), below(3));
        }
        ssm2d_context_destroy(context);
    }
}

/* Kernels of seven columns are computed in place, where an instruction set has the body for it:
 * every width of blocks, at both edges and between them. */
static void short_kernels_in_place_agree_with_the_definition(void **state)
{
    (void)state;
    enum { WHOLE_VECTORS = 16 };
    static const int layouts[] = {0, 2}; /* channels are next to each other */
    for (int level = 0; level <= (int)cpu_best(); level++) {
        ssm2d_context *context = context_of(1 + level % 2, cpu_names[level]);
        const int has_body = simd_for(context->cpu)->short_rows[0][SHORT_MIN_C] != NULL;
        for (int cols = SHORT_REACH + 1; cols < 3 * SHORT_MAX_C; cols++) {
            conv_problem q = {.context = context,
                              .batch = 1 + (size_t)below(3),
                              .rows = 1 + below(9),
                              .cols = cols,
                              .channels = WHOLE_VECTORS * (1 + below(3)),
                              .trunc_cols = SHORT_REACH + 1};
            q.trunc_rows = 1 + below(q.rows);
            for (int s = 0; s < REACH_SIGNS; s++)
                q.reach[s] = (conv_reach){-SHORT_REACH, SHORT_REACH};
            assert_int_equal(run(q, "direct", layouts[below(2)], layouts[below(2)]), has_body);
            q.channels--; /* not whole vectors */
            assert_int_equal(run(q, "direct", 0, 0), 0);
        }
        ssm2d_context_destroy(context);
    }
}

/* The pairs that direct visits, counted one offset at a time. */
static void pair_count_equals_counting_by_offsets(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        conv_problem q = random_problem(NULL);
        double pairs = 0;
        for (int d = 1 - q.trunc_rows; d < q.trunc_rows; d++)
            for (int o = 1 - q.trunc_cols; o < q.trunc_cols; o++)
                if (reached(&q, d, o)) pairs += (double)(q.rows - abs(d)) * (q.cols - abs(o));
        assert_true(direct_pairs(&q) == pairs);
    }
}

static void unknown_algorithms_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1, NULL);
    conv_problem q = random_problem(context);
    size_t start;
    q.in = q.out = strides_of(&q, 0, &start);
    conv_plan *plan = (conv_plan *)context;
    ssm2d_error error;
    assert_null(conv_algorithm_name(-1));
    assert_int_equal(conv_plan_draft(&q, "quantum", &plan, &error), SSM2D_ERROR_ARGUMENT);
    assert_null(plan);
    assert_non_null(strstr(error.line, "quantum"));
    conv_plan_destroy(NULL);
    /* more memory than there can be */
    q.batch = 1;
    q.rows = q.cols = q.trunc_rows = q.trunc_cols = 1 << 20;
    q.channels = 1 << 20;
    for (int k = 0; conv_algorithm_name(k); k++) {
        assert_int_equal(conv_plan_draft(&q, conv_algorithm_name(k), &plan, &error), SSM2D_OK);
        assert_true(conv_plan_bytes(plan) == SIZE_MAX);
        conv_plan_destroy(plan);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms_agree_with_the_definition),
        cmocka_unit_test(short_kernels_in_place_agree_with_the_definition),
        cmocka_unit_test(pair_count_equals_counting_by_offsets),
        cmocka_unit_test(unknown_algorithms_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
