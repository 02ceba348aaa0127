/* Element types other than real: conversions against plain code, for every bfloat16 and at the
 * edges; tensors and parameters of these types in graphs; and refusals. */
#include "graph_fixture.h"
#include "graph_helpers.h"

#include "core/float_mode.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ALL = 65536 };

static ssm2d_context *context;
static const simd_ops *simd;

/* ---- reference code -------------------------------------------------------------------------- */

/* The value of these bits; that of infinity is the value from which on numbers round to it. */
static double plain_value(unsigned bits)
{
    const int exponent = (int)(bits >> 7 & 0xff);
    const double fraction = (double)(bits & 0x7f) / 128;
    const double size = exponent ? ldexp(1 + fraction, exponent - 127) : ldexp(fraction, -126);
    return bits >> 15 ? -size : size;
}

static int is_nan_half(unsigned bits) { return (bits & 0x7fff) > 0x7f80; }

/* The nearest bfloat16, ties to even: found by bisection among all magnitudes. */
static unsigned plain_half(double x)
{
    const double size = fabs(x);
    unsigned below = 0, above = 0x7f80;
    if (isinf(x)) return x < 0 ? 0xff80 : 0x7f80;
    while (above - below > 1) {
        const unsigned middle = (below + above) / 2;
        if (plain_value(middle) <= size)
            below = middle;
        else
            above = middle;
    }
    const double to_below = size - plain_value(below), to_above = plain_value(above) - size;
    const int up = to_above < to_below || (!(to_below < to_above) && below % 2);
    return (up ? above : below) | (signbit(x) ? 0x8000 : 0);
}

/* ---- bfloat16 -------------------------------------------------------------------------------- */

static real real_of(unsigned bits)
{
    if (is_nan_half(bits)) return (real)NAN;
    if ((bits & 0x7fff) == 0x7f80) return bits >> 15 ? (real)-INFINITY : (real)INFINITY;
    return (real)plain_value(bits);
}

static void every_bfloat16_converts_and_back(void **state)
{
    (void)state;
    bfloat16 *halves = malloc(ALL * sizeof *halves), *back = malloc(ALL * sizeof *back);
    real *x = malloc(ALL * sizeof *x);
    assert_true(halves && back && x);
    for (unsigned i = 0; i < ALL; i++) halves[i] = (bfloat16)i;
    const float_mode before = float_mode_set(); /* as in a run: subnormal operands are zero */
    simd->bfloat16_to_real(x, halves, ALL);
    simd->real_to_bfloat16(back, x, ALL);
    float_mode_restore(before);
    for (unsigned i = 0; i < ALL; i++) {
        const real want = real_of(i);
        if (is_nan_half(i)) {
            assert_true(x[i] != x[i]);
            assert_int_equal(back[i], i | 0x40); /* quiet, with its sign and its other bits */
        } else {
            assert_memory_equal(&x[i], &want, sizeof want);
            assert_int_equal(back[i], i);
        }
    }
    free(halves);
    free(back);
    free(x);
}

/* Values at and next to every bfloat16, and at the middle to its neighbour. */
static void rounds_to_the_nearest_bfloat16(void **state)
{
    (void)state;
    enum { PLACES = 7 };
    real *x = malloc(ALL * PLACES * sizeof *x);
    bfloat16 *y = malloc(ALL * PLACES * sizeof *y);
    assert_true(x && y);
    size_t count = 0;
    for (unsigned i = 0; i < ALL; i++) {
        if ((i & 0x7fff) >= 0x7f80) continue;
        const real at = real_of(i), middle = (real)((plain_value(i) + plain_value(i + 1)) / 2);
        const real far = middle < 0 ? -(real)INFINITY : (real)INFINITY;
        const real next = sizeof(real) == sizeof(float)
                              ? (real)nextafterf((float)middle, (float)far)
                              : (real)nextafter((double)middle, (double)far);
        const real last = sizeof(real) == sizeof(float) ? (real)nextafterf((float)middle, 0)
                                                        : (real)nextafter((double)middle, 0);
        const real places[PLACES] = {at,   (at + middle) / 2,     last,   middle,
                                     next, middle + middle / 512, -middle};
        for (int k = 0; k < PLACES; k++)
            if (isfinite(places[k])) x[count++] = places[k];
    }
    const float_mode before = float_mode_set();
    simd->real_to_bfloat16(y, x, count);
    float_mode_restore(before);
    for (size_t i = 0; i < count; i++)
        if (y[i] != plain_half((double)x[i]))
            fail_msg("%a becomes %04x, not %04x", (double)x[i], y[i], plain_half((double)x[i]));
    free(x);
    free(y);
}

static void edges_of_bfloat16(void **state)
{
    (void)state;
    const real x[] = {(real)INFINITY, (real)-INFINITY, (real)FLT_MAX,  (real)-FLT_MAX, (real)0,
                      (real)-0.0,     (real)FLT_MIN,   (real)0x1p-149, (real)NAN};
    const unsigned want[] = {0x7f80, 0xff80, 0x7f80, 0xff80, 0, 0x8000, 0x0080, 0, 0x7fc0};
    bfloat16 y[9];
    simd->real_to_bfloat16(y, x, 9);
    for (int i = 0; i < 9; i++) assert_int_equal(y[i] & (i == 8 ? 0x7fff : 0xffff), want[i]);
}

/* ---- int8 ------------------------------------------------------------------------------------ */

static void rounds_to_the_nearest_int8(void **state)
{
    (void)state;
    enum { COUNT = 4003 };
    real x[COUNT];
    int8_t y[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = (real)((i - COUNT / 2) * 0.125);
    const real edges[] = {(real)INFINITY, (real)-INFINITY, (real)1e30, (real)-1e30, (real)NAN,
                          (real)0x1p-149, (real)-0.5,      (real)0.5,  (real)1.5,   (real)126.5};
    memcpy(x, edges, sizeof edges);
    simd->real_to_int8(y, x, COUNT, 1);
    const int want[] = {127, -127, 127, -127, 0, 0, 0, 0, 2, 126};
    for (int i = 0; i < 10; i++) assert_int_equal(y[i], want[i]);
    for (int i = 10; i < COUNT; i++)
        assert_int_equal(y[i], (int)fmax(-127, fmin(127, nearbyint((double)x[i]))));
    simd->real_to_int8(y, x, COUNT, (real)0.3);
    for (int i = 10; i < COUNT; i++)
        assert_int_equal(y[i], (int)fmax(-127, fmin(127, nearbyint((double)(x[i] * (real)0.3)))));
}

static void every_int8_converts_back(void **state)
{
    (void)state;
    int8_t y[256];
    real x[256];
    for (int i = 0; i < 256; i++) y[i] = (int8_t)(i - 128);
    simd->int8_to_real(x, y, 256, (real)0.37);
    for (int i = 0; i < 256; i++) {
        const real want = (real)(i - 128) * (real)0.37;
        assert_memory_equal(&x[i], &want, sizeof want);
    }
}

static void largest_magnitude_is_found(void **state)
{
    (void)state;
    real x[67] = {0};
    for (size_t n = 0; n <= 67; n++) {
        for (size_t i = 0; i < n; i++) x[i] = (real)(i % 2 ? 0.5 : -0.25);
        if (n) x[n - 1] = (real)-3;
        assert_true(fabs((double)simd->largest_size(x, n) - (n ? 3 : 0)) <= 0);
        if (n) x[n / 2] = (real)NAN;
        assert_true(!n || isnan(simd->largest_size(x, n)));
    }
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* For any length, exactly that many elements are written, with the same results. */
static void tails_convert_like_whole_vectors(void **state)
{
    (void)state;
    enum { MOST = 70 };
    real x[MOST], back[MOST + 1];
    bfloat16 all_halves[MOST], halves[MOST + 1];
    int8_t all_bytes[MOST], bytes[MOST + 1];
    for (int i = 0; i < MOST; i++) x[i] = (real)(sin(i) * 100);
    for (int i = 0; i < MOST; i++) {
        simd->real_to_bfloat16(&all_halves[i], &x[i], 1);
        simd->real_to_int8(&all_bytes[i], &x[i], 1, (real)0.7);
    }
    for (size_t n = 0; n <= MOST; n++) {
        halves[n] = 0x1234;
        bytes[n] = 55;
        simd->real_to_bfloat16(halves, x, n);
        simd->real_to_int8(bytes, x, n, (real)0.7);
        assert_memory_equal(halves, all_halves, n * sizeof *halves);
        assert_memory_equal(bytes, all_bytes, n);
        assert_true(halves[n] == 0x1234 && bytes[n] == 55);
        back[n] = 77;
        simd->bfloat16_to_real(back, halves, n);
        for (size_t i = 0; i < n; i++) assert_true(fabs((double)(back[i] - x[i])) < 0.3);
        simd->int8_to_real(back, bytes, n, 2);
        for (size_t i = 0; i < n; i++) assert_true(fabs((double)(back[i] - 2 * bytes[i])) <= 0);
        assert_true(fabs((double)back[n] - 77) <= 0);
    }
}

/* ---- graphs ---------------------------------------------------------------------------------- */

enum { ROWS = 37, COLS = 19 };

static real params[4 * ROWS * COLS], grads[4 * ROWS * COLS];

static void fill_params(void)
{
    for (int i = 0; i < 4 * ROWS * COLS; i++) {
        params[i] = (real)(sin(0.7 * i) * (1 + i % 5));
        grads[i] = 0;
    }
}

/* Values, a view among them, in another type and back: each element is within a step of what it
 * was, and the gradient is that of the identity. */
static void check_round_trip(element_type type, int scale_per_row, int of_view)
{
    graph *g = graph_of(context, 1);
    tensor *x = graph_param(g, spec_of(2, (size_t[]){ROWS, COLS + 4}), "x");
    tensor *v = scale(g, x, 2);
    tensor *view = of_view ? columns(g, v, 3, COLS) : v;
    tensor *narrow = convert_to(g, view, type, scale_per_row);
    tensor *y = convert_to(g, narrow, ELEMENT_REAL, 0);
    assert_int_equal(narrow->type, type);
    assert_int_equal(y->type, ELEMENT_REAL);
    assert_ptr_equal(convert_to(g, y, ELEMENT_REAL, 0), y);
    finish(g, y);
    fill_params();
    graph_bind(g, params, grads);
    graph_forward(g);
    const size_t width = y->shape[1], first = of_view ? 3 : 0;
    double top = 0;
    for (int r = 0; r < ROWS; r++)
        for (size_t c = 0; c < width; c++)
            top = fmax(top, 2 * fabs((double)params[(size_t)r * (COLS + 4) + first + c]));
    for (int r = 0; r < ROWS; r++) {
        double row_top = 0;
        const real *from = params + (size_t)r * (COLS + 4) + first;
        for (size_t c = 0; c < width; c++) row_top = fmax(row_top, 2 * fabs((double)from[c]));
        for (size_t c = 0; c < width; c++) {
            const double want = 2 * (double)from[c],
                         step = type == ELEMENT_BFLOAT16 ? fabs(want) / 256
                                                         : (scale_per_row ? row_top : top) / 254;
            assert_true(fabs((double)y->data[(size_t)r * width + c] - want) <= step * 1.0001);
        }
    }
    for (size_t i = 0; i < y->count; i++) y->grad[i] = (real)(1 + i % 7);
    graph_backward(g);
    for (size_t i = 0; i < y->count; i++) {
        const size_t at = i / width * (COLS + 4) + first + i % width;
        assert_true(fabs((double)grads[at] - 2 * (double)(1 + i % 7)) <= 0);
    }
    graph_destroy(g);
}

static void conversions_keep_values_and_gradients(void **state)
{
    (void)state;
    for (int of_view = 0; of_view < 2; of_view++) {
        check_round_trip(ELEMENT_BFLOAT16, 0, of_view);
        check_round_trip(ELEMENT_INT8, 0, of_view);
        check_round_trip(ELEMENT_INT8, 1, of_view);
    }
}

/* Conversions in chains of rows give the same as nodes of their own. */
static void chains_of_rows_convert(void **state)
{
    (void)state;
    enum { MANY = 512 };
    static real x[MANY * COLS], want[MANY * COLS];
    for (int i = 0; i < MANY * COLS; i++) x[i] = (real)(sin(0.3 * i) * 3);
    for (int pass = 0; pass < 2; pass++) { /* a view between them ends no chain, int8 does */
        graph *g = graph_of(context, 0);
        tensor *in = graph_input(g, "x", 2, (size_t[]){MANY, COLS});
        tensor *y = gelu(g, in);
        y = convert_to(g, y, ELEMENT_BFLOAT16, 0);
        y = gelu(g, convert_to(g, y, ELEMENT_REAL, 0));
        if (pass) y = convert_to(g, convert_to(g, y, ELEMENT_INT8, 1), ELEMENT_REAL, 0);
        finish(g, y);
        tensor_place(in, x);
        graph_forward(g);
        for (int i = 0; i < MANY * COLS; i++) {
            if (!pass) {
                bfloat16 half;
                real once, twice;
                simd->gelu(&once, &x[i], 1);
                simd->real_to_bfloat16(&half, &once, 1);
                simd->bfloat16_to_real(&twice, &half, 1);
                simd->gelu(&want[i], &twice, 1);
                assert_memory_equal(&y->data[i], &want[i], sizeof *want);
            } else {
                assert_true(fabs((double)(y->data[i] - want[i])) < 0.02);
            }
        }
        graph_destroy(g);
    }
}

/* An infinity or a NaN does not disappear in int8, and is found. */
static void values_that_are_not_finite_stay_so(void **state)
{
    (void)state;
    const double bad[] = {INFINITY, NAN};
    for (int k = 0; k < 4; k++) {
        graph *g = graph_of(context, 1);
        tensor *x = graph_param(g, spec_of(2, (size_t[]){3, 5}), "x");
        tensor *narrow =
            convert_to(g, scale(g, x, 1), k < 2 ? ELEMENT_INT8 : ELEMENT_BFLOAT16, k < 2);
        tensor *y = convert_to(g, narrow, ELEMENT_REAL, 0);
        finish(g, y);
        fill_params();
        graph_bind(g, params, grads);
        params[7] = (real)bad[k % 2];
        graph_forward(g);
        for (int i = 0; i < 15; i++) {
            const int is_bad = k < 2 ? i / 5 == 1 : i == 7;
            assert_true(is_bad ? !isfinite(y->data[i]) : isfinite(y->data[i]));
        }
        assert_non_null(graph_find_bad(g));
        graph_destroy(g);
    }
}

/* Parameters of inference may have other types; int8's scales follow its elements. */
static void parameters_have_types(void **state)
{
    (void)state;
    graph *g = graph_of(context, 0);
    param_spec half = *spec_of(1, (size_t[]){5}), byte = *spec_of(2, (size_t[]){2, 5});
    half.type = ELEMENT_BFLOAT16;
    byte.type = ELEMENT_INT8;
    byte.scales = 2;
    tensor *h = graph_param(g, &half, "h"), *b = graph_param(g, &byte, "b");
    tensor *after = graph_param(g, spec_of(2, (size_t[]){2, 5}), "after");
    tensor *sum = add(g, convert_to(g, b, ELEMENT_REAL, 0), after);
    tensor *other = convert_to(g, h, ELEMENT_REAL, 0);
    assert_int_equal(h->offset, 0);
    assert_int_equal(b->offset, (5 * 2 + sizeof(real) - 1) / sizeof(real));
    assert_int_equal(after->offset, b->offset + 64 / sizeof(real) + 2);
    assert_int_equal(g->param_count, after->offset + 10);
    finish(g, sum);
    graph_bind(g, params, NULL);
    for (int i = 0; i < 10; i++) {
        b->int8[i] = (int8_t)(i - 4);
        after->data[i] = 100;
    }
    for (int i = 0; i < 5; i++) h->bf16[i] = 0x3f80;
    b->scales[0] = (real)0.5;
    b->scales[1] = 4;
    graph_forward(g);
    for (int i = 0; i < 10; i++)
        assert_true(fabs((double)sum->data[i] - 100 - (i < 5 ? 0.5 : 4) * (i - 4)) <= 0);
    (void)other;
    graph_destroy(g);
}

/* A tensor of another type takes as many bytes as its elements. */
static void memory_is_planned_in_bytes(void **state)
{
    (void)state;
    size_t bytes[ELEMENT_TYPES];
    for (int type = 0; type < ELEMENT_TYPES; type++) {
        graph *g = graph_of(context, 1);
        tensor *x = graph_param(g, spec_of(2, (size_t[]){64, 64}), "x");
        /* the forward pass ends with many values, each from x alone, that all live to the end */
        tensor *sum = NULL, *kept[8];
        for (int i = 0; i < 8; i++) kept[i] = convert_to(g, scale(g, x, i), (element_type)type, 0);
        for (int i = 0; i < 8; i++) {
            tensor *one = convert_to(g, kept[i], ELEMENT_REAL, 0);
            sum = sum ? add(g, sum, one) : one;
        }
        finish(g, sum);
        bytes[type] = g->bytes;
        graph_destroy(g);
    }
    const size_t one = 64 * 64 * sizeof(real);
    assert_true(bytes[ELEMENT_INT8] < bytes[ELEMENT_BFLOAT16]);
    assert_true(bytes[ELEMENT_BFLOAT16] + 2 * one < bytes[ELEMENT_REAL] + one);
}

static void refuse(graph *g, int which)
{
    tensor *x = graph_input(g, "x", 2, (size_t[]){2, 5});
    tensor *half =
        graph_set_type(g, graph_input(g, "half", 2, (size_t[]){2, 5}), ELEMENT_BFLOAT16, 0);
    param_spec byte = *spec_of(2, (size_t[]){2, 5});
    byte.type = ELEMENT_INT8;
    byte.scales = 1;
    switch (which) {
    case 0: add(g, x, half); break;
    case 1: silu(g, columns(g, half, 1, 2)); break;
    case 2: graph_set_type(g, gelu(g, x), ELEMENT_BFLOAT16, 0); break;
    case 3: graph_set_type(g, x, ELEMENT_INT8, 5); break;
    case 4: graph_set_type(g, x, ELEMENT_BFLOAT16, 1); break;
    case 5: graph_param(g, &byte, "w"); break; /* the graph is for training */
    case 6: graph_param_block(g, &(param_block){.name = "b"}, 1, &byte); break;
    }
}

static void wrong_types_are_refused_by_name(void **state)
{
    (void)state;
    const char *const want[][3] = {{"add", "bfloat16", "input 1"},
                                   {"silu", "bfloat16", "input 0"},
                                   {"gelu", "bfloat16", "give"},
                                   {"int8", "5 scales", "\"x\""},
                                   {"bfloat16", "1 scales", "2 rows"},
                                   {"w", "int8", "trained"},
                                   {"b.", "int8", "block"}};
    for (int i = 0; i < 7; i++) {
        graph *g = graph_of(context, 1);
        refuse(g, i);
        assert_int_equal(g->status, SSM2D_ERROR_ARGUMENT);
        for (int k = 0; k < 3; k++)
            if (!strstr(g->error.line, want[i][k]))
                fail_msg("\"%s\" does not say \"%s\"", g->error.line, want[i][k]);
        graph_destroy(g);
    }
}

static int setup(void **state)
{
    (void)state;
    context = context_of(2);
    simd = simd_ops_for(context->cpu);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bfloat16_converts_and_back),
        cmocka_unit_test(rounds_to_the_nearest_bfloat16),
        cmocka_unit_test(edges_of_bfloat16),
        cmocka_unit_test(rounds_to_the_nearest_int8),
        cmocka_unit_test(every_int8_converts_back),
        cmocka_unit_test(largest_magnitude_is_found),
        cmocka_unit_test(tails_convert_like_whole_vectors),
        cmocka_unit_test(conversions_keep_values_and_gradients),
        cmocka_unit_test(chains_of_rows_convert),
        cmocka_unit_test(values_that_are_not_finite_stay_so),
        cmocka_unit_test(parameters_have_types),
        cmocka_unit_test(memory_is_planned_in_bytes),
        cmocka_unit_test(wrong_types_are_refused_by_name),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, setup, teardown);
}
