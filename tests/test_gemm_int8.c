/* Matrix products with 8-bit factors: every table gives, to the bit, what gemm_int8_table.h says,
 * which is computed here one by one. */
#include "problem.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_table_gives_the_same_bits),
                                       cmocka_unit_test(test_level_chooses_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
