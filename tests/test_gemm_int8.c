/* Matrix products with 8-bit factors: every table gives, to the bit, what gemm_int8_table.h says,
 * which is computed here one by one. */
#include "problem.h"

#include "graph/quantization.h"
#include "ops/ops.h"
#include "ops/simd/gemm_int8_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *memory(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(p);
    memset(p, 0x55, bytes);
    return p;
}

static float *normal(size_t count, uint64_t seed)
{
    rng r = rng_seed(seed);
    float *p = memory(count * sizeof *p);
    for (size_t i = 0; i < count; i++) p[i] = (float)rng_normal(&r);
    return p;
}

static int limited(double x, int low, int high)
{
    return isnan(x) ? 0 : (int)fmin(fmax(nearbyint(x), low), high);
}

/* One element of y; x and w: [k]. */
static float product(const gemm_int8_args *p, const float *x, const float *w, float scale,
                     float bias)
{
    const volatile float factor = 1 / p->x_scale, x_scale = p->x_scale;
    int64_t sum = 0;
    for (size_t i = 0; i < p->k; i++) {
        const volatile float v = x[i] * factor, q = scale > 0 ? w[i] / scale : 0;
        sum += (int64_t)limited((double)v, -p->zero, 255 - p->zero) * limited((double)q, -127, 127);
    }
    assert_true(sum > INT32_MIN && sum < INT32_MAX);
    const volatile float whole = (float)sum, s = x_scale * scale, scaled = whole * s;
    return scaled + bias;
}

/* How values are chosen. */
typedef enum kind { NORMAL, WIDE, EXTREME, KINDS } kind;

static void check_product(const gemm_int8_table *t, size_t m, size_t n, size_t k, kind how)
{
    const size_t x_row = k + 3, y_row = n + 2;
    float *x = normal(m * x_row, 1), *w = normal(n * k, 2), *bias = normal(n, 3),
          *y = normal(m * y_row, 4), *start = normal(m * y_row, 4), *scales = normal(n, 5);
    for (size_t i = 0; i < n; i++) scales[i] = i % 7 == 3 ? 0 : 0.01f + 0.02f * fabsf(scales[i]);
    if (how == EXTREME) { /* all factors at their ends: 255 * 127 everywhere */
        for (size_t i = 0; i < m * x_row; i++) x[i] = 1e30f;
        for (size_t i = 0; i < n * k; i++) w[i] = i % 2 || n > 40 ? 1e30f : -1e30f;
    }
    if (how == WIDE) {
        x[0] = NAN, x[k / 2] = INFINITY, x[k - 1] = -INFINITY, w[0] = NAN, w[n * k - 1] = INFINITY;
        for (size_t i = 1; i < m * x_row; i += 3) x[i] *= 1e4f;
    }
    const int zero = how == NORMAL ? 117 : how == WIDE ? 7 : 0;
    const gemm_int8_args p = {.m = m,
                              .n = n,
                              .k = k,
                              .x_row = x_row,
                              .y_row = y_row,
                              .x = x,
                              .x_scale = 0.02f,
                              .zero = zero,
                              .packed = memory(t->size(n, k)),
                              .y = y};
    const gemm_int8_pack_args pack = {
        n, k, w, scales, how == WIDE ? NULL : bias, p.x_scale, zero, (void *)p.packed};
    const size_t half = n / 2 / t->panel * t->panel; /* packed and computed in two parts */
    t->pack(&pack, half, n);
    t->pack(&pack, 0, half);
    t->multiply(&p, 0, half);
    t->multiply(&p, half, n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < y_row; j++) {
            const float got = y[i * y_row + j],
                        want = j >= n ? start[i * y_row + j]
                                      : product(&p, x + i * x_row, w + j * k, scales[j],
                                                how == WIDE ? 0 : bias[j]);
            if (memcmp(&got, &want, sizeof got))
                fail_msg("%s, %zu x %zu x %zu, kind %d: y[%zu][%zu] is %a, not %a", t->name, m, n,
                         k, (int)how, i, j, (double)got, (double)want);
        }
    free(x), free(w), free(bias), free(y), free(start), free(scales), free((void *)p.packed);
}

/* Lengths of one group, odd ones, those around a vector, and more than a block takes at once. */
static void test_every_table_gives_the_same_bits(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {{1, 1, 1},    {2, 3, 2},    {13, 33, 31},   {12, 64, 64},
                                      {25, 40, 97}, {7, 65, 300}, {14, 34, 1100}, {3, 20, 4100}};
    int tables = 0;
    for (const gemm_int8_table *t; (t = gemm_int8_at(tables)); tables++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (kind how = NORMAL; how < KINDS; how++)
                check_product(t, sizes[i][0], sizes[i][1], sizes[i][2], how);
    assert_true(tables >= 1);
}

/* The level limits the instructions. */
static void test_level_chooses_the_table(void **state)
{
    (void)state;
    assert_non_null(strstr(gemm_int8_for(CPU_BASELINE)->name, "baseline"));
    if (cpu_best() >= CPU_AVX2) assert_non_null(strstr(gemm_int8_for(CPU_AVX2)->name, "avx"));
    assert_null(strstr(gemm_int8_for(CPU_AVX2)->name, "avx512"));
}

/* ---- in a graph ------------------------------------------------------------------------------ */

enum { ROWS = 300, INPUTS = 50, HIDDEN = 70, OUTPUTS = 9 };

/* y = linear(gelu(linear(x))), the first layer quantised: what it gives, or the graph. */
static void run_graph(const char *cpu, int threads, const float *x, float *params,
                      const quantization *q, int one_by_one, float *hidden, float *out)
{
    const ssm2d_context_options o = {.size = sizeof o, .threads = threads, .cpu = cpu};
    const param_spec first = {.rank = 2, .shape = {HIDDEN, INPUTS}},
                     bias = {.rank = 1, .shape = {HIDDEN}},
                     second = {.rank = 2, .shape = {OUTPUTS, HIDDEN}};
    ssm2d_context *context;
    ssm2d_error error;
    graph *g;
    assert_int_equal(ssm2d_context_create(&o, &context, &error), SSM2D_OK);
    assert_int_equal(graph_create(context, 0, &g, &error), SSM2D_OK);
    g->quantization = q;
    g->one_by_one = one_by_one;
    tensor *images = graph_input(g, "x", 2, (size_t[]){ROWS, INPUTS}),
           *w = graph_param(g, &first, "first"), *b = graph_param(g, &bias, "bias"),
           *v = graph_param(g, &second, "second");
    tensor *h = linear(g, images, w, b), *y = linear(g, hidden ? h : gelu(g, h), v, NULL);
    if (graph_finish(g, hidden ? h : y, &error)) fail_msg("%s", error.line);
    graph_bind(g, params, NULL);
    images->data = (float *)x;
    graph_forward(g);
    if (hidden) memcpy(hidden, h->data, h->count * sizeof *hidden);
    if (out) memcpy(out, y->data, y->count * sizeof *out);
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

/* A layer of a graph gives the same bits as the plain product for every instruction set and number
 * of threads, by itself and in a chain of nodes that are run row by row. */
static void test_layers_of_a_graph(void **state)
{
    (void)state;
    enum { PARAMS = HIDDEN * INPUTS + HIDDEN + OUTPUTS * HIDDEN };
    float *x = normal(ROWS * INPUTS, 1), *params = normal(PARAMS, 2), scales[HIDDEN],
          *hidden = memory(ROWS * HIDDEN * sizeof(float)), y[2][ROWS * OUTPUTS];
    for (int i = 0; i < HIDDEN; i++) scales[i] = 0.02f + 0.001f * (float)i;
    quantized_linear layer = {"first", HIDDEN, 0.03f, 90, scales};
    const quantization q = {1, &layer};
    const gemm_int8_args p = {.k = INPUTS, .x_scale = layer.scale, .zero = layer.zero};
    for (int level = 0; level <= (int)cpu_best(); level++)
        for (int threads = 1; threads <= 3; threads += 2) {
            run_graph(cpu_names[level], threads, x, params, &q, 0, hidden, NULL);
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < HIDDEN; j++) {
                    const float want = product(&p, x + i * INPUTS, params + j * INPUTS, scales[j],
                                               params[HIDDEN * INPUTS + j]);
                    if (memcmp(&hidden[i * HIDDEN + j], &want, sizeof want))
                        fail_msg("%s, %d threads: [%zu][%zu] is %a, not %a", cpu_names[level],
                                 threads, i, j, (double)hidden[i * HIDDEN + j], (double)want);
                }
            run_graph(cpu_names[level], threads, x, params, &q, 0, NULL, y[0]);
            run_graph(cpu_names[level], 1, x, params, &q, 1, NULL, y[1]);
            assert_memory_equal(y[0], y[1], sizeof y[0]);
        }
    free(x), free(params), free(hidden);
}

/* Training graphs and layers that do not fit are refused while building. */
static void test_wrong_layers_are_refused(void **state)
{
    (void)state;
    const param_spec spec = {.rank = 2, .shape = {OUTPUTS, INPUTS}};
    float scales[OUTPUTS] = {0};
    for (int wrong = 0; wrong < 2; wrong++) {
        quantized_linear layer = {"w", wrong ? OUTPUTS : OUTPUTS - 1, 1, 0, scales};
        const quantization q = {1, &layer};
        ssm2d_context *context;
        ssm2d_error error;
        graph *g;
        assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
        assert_int_equal(graph_create(context, wrong, &g, &error), SSM2D_OK);
        g->quantization = &q;
        tensor *x = graph_input(g, "x", 2, (size_t[]){2, INPUTS});
        assert_null(linear(g, x, graph_param(g, &spec, "w"), NULL));
        assert_non_null(strstr(g->error.line, wrong ? "inference" : "8 scales"));
        graph_destroy(g);
        ssm2d_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers_of_a_graph),
                                       cmocka_unit_test(test_wrong_layers_are_refused),
                                       cmocka_unit_test(test_every_table_gives_the_same_bits),
                                       cmocka_unit_test(test_level_chooses_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
