#define _GNU_SOURCE /* registers in signal handlers */
/* Matrix products of bfloat16 factors: every table gives, to the bit, the sums that gemm_pairs.h
 * and tiles_emulated.h promise, which are computed here one by one; and attention, which consists
 * of them. */
#include "aligned_arrays.h"
#include "problem.h"
#include "soft_float.h"
#include "tile_traps.h"

#include "core/amx.h"
#include "core/float_mode.h"
#include "ops/simd/gemm_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To the nearest bfloat16, ties to even. */
static float rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return x;
    bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The sum of k products, from `start`: a[i * a_step] b[i * b_step], the second of a pair first. */
static float dot_pairs(float start, const float *a, size_t a_step, const float *b, size_t b_step,
                       size_t k)
{
    volatile float sum = start; /* is rounded after every step */
    for (size_t i = 0; i < k; i += 2) {
        if (i + 1 < k) sum = sum + rounded(a[(i + 1) * a_step]) * rounded(b[(i + 1) * b_step]);
        sum = sum + rounded(a[i * a_step]) * rounded(b[i * b_step]);
    }
    return sum;
}

/* The same as TDPBF16PS adds them, 32 at a time: first and second of pairs by themselves. */
static float dot_tiles(float start, const float *a, size_t a_step, const float *b, size_t b_step,
                       size_t k)
{
    float sum = start;
    for (size_t i = 0; i < k; i += 32) {
        float half[2] = {0, 0};
        for (size_t l = i; l < i + 32; l++) {
            const float left = l < k ? rounded(a[l * a_step]) : 0,
                        right = l < k ? rounded(b[l * b_step]) : 0;
            half[l % 2] = soft_mul_add(left, right, half[l % 2]);
        }
        sum = soft_add(sum, soft_add(half[0], half[1]));
    }
    return sum;
}

typedef float dot_function(float start, const float *a, size_t a_step, const float *b,
                           size_t b_step, size_t k);
static dot_function *const dots[GEMM_ORDERS] = {dot_pairs, dot_tiles};

/* Calls a test for every table of this machine. */
typedef void body_test(gemm_order order, const gemm_body *body);
static void on_each_body(body_test *test)
{
    const float_mode before = float_mode_set();
    for (int level = 0; level < CPU_LEVELS; level++) {
        cpu_level found;
        ssm2d_error error;
        gemm_body bodies[GEMM_BODIES];
        if (cpu_choose(cpu_names[level], &found, &error)) continue; /* this machine lacks it */
        for (int order = 0; order < GEMM_ORDERS; order++) {
            const int count = gemm_bfloat16_bodies(found, order, bodies);
            assert_true(count > 0);
            for (int i = 0; i < count; i++) test(order, &bodies[i]);
        }
    }
    float_mode_restore(before);
}

static void same(const char *what, size_t i, float got, float want)
{
    if (memcmp(&got, &want, sizeof got) && !(isnan(got) && isnan(want)))
        fail_msg("%s [%zu] is %a, not %a", what, i, (double)got, (double)want);
}

/* y = x W + b, with W given either way round, or y += x W. */
static void check_packed(const gemm_table *t, dot_function *dot, size_t m, size_t n, size_t k,
                         int mode)
{
    const size_t x_row = k + 3, y_row = n + 2;
    float *x = normals(m * x_row, 1), *w = normals(n * k, 2), *bias = normals(n, 3),
          *y = normals(m * y_row, 4), *start = normals(m * y_row, 4),
          *packed = zeros(t->gemm_packed_size(n, k));
    const size_t row = mode == 1 ? n : 1, column = mode == 1 ? 1 : k;
    t->gemm_pack(&(gemm_pack_args){n, k, w, row, column, packed}, 0, n);
    t->gemm_packed(&(gemm_packed_args){.m = m,
                                       .n = n,
                                       .k = k,
                                       .x = x,
                                       .x_row = x_row,
                                       .packed = packed,
                                       .bias = mode == 2 ? NULL : bias,
                                       .y = y,
                                       .y_row = y_row,
                                       .adds = mode == 2},
                   0, n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < y_row; j++) {
            const float first = j >= n || mode == 2 ? start[i * y_row + j] : bias[j];
            const float want =
                j >= n ? first : dot(first, x + i * x_row, 1, w + j * column, row, k);
            same("y", i * y_row + j, y[i * y_row + j], want);
        }
    free(x), free(w), free(bias), free(y), free(start), free(packed);
}

static void check_tn(const gemm_table *t, dot_function *dot, size_t m, size_t n, size_t k)
{
    const size_t x_row = k + 1, depth = 64;
    float *x = normals(m * x_row, 5), *dy = normals(m * n, 6), *dw = normals(n * k, 7),
          *start = normals(n * k, 7), *db = zeros(n), *scratch = zeros(t->gemm_tn_scratch_size(k));
    t->gemm_tn(&(gemm_tn_args){m, n, k, x_row, depth, 0, x, dy, dw, db, 1},
               &(gemm_tn_part){0, n, 0, k}, scratch);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++) {
            float want = start[i * k + j];
            for (size_t r = 0; r < m; r += depth)
                want = dot(want, dy + r * n + i, n, x + r * x_row + j, x_row,
                           m - r < depth ? m - r : depth);
            same("dW", i * k + j, dw[i * k + j], want);
        }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t r = 0; r < m; r++) sum += (double)dy[r * n + i]; /* not rounded to bfloat16 */
        assert_true(fabs(sum - (double)db[i]) < 1e-4);
    }
    free(x), free(dy), free(dw), free(start), free(db), free(scratch);
}

/* Lengths of one step, odd ones, those around a vector, a tile and two, and more than a block takes
 * at once. */
static void check_table(gemm_order order, const gemm_body *body)
{
    static const size_t sizes[][3] = {{1, 1, 1},    {2, 3, 2},    {13, 33, 31},   {12, 64, 64},
                                      {25, 40, 97}, {7, 65, 300}, {14, 34, 1100}, {16, 16, 32},
                                      {32, 32, 33}, {33, 17, 34}, {17, 15, 63},   {48, 16, 65}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        for (int mode = 0; mode < 3; mode++) check_packed(body->table, dots[order], m, n, k, mode);
        check_tn(body->table, dots[order], k, n, m);
        check_tn(body->table, dots[order], m, n, 37);
    }
}

static void test_products_have_the_promised_bits(void **state)
{
    (void)state;
    on_each_body(check_table);
}

/* One product of these factors. */
static float product_of(const gemm_table *t, float a, float b)
{
    float *packed = zeros(t->gemm_packed_size(1, 1)), y = 0;
    t->gemm_pack(&(gemm_pack_args){1, 1, &b, 1, 1, packed}, 0, 1);
    t->gemm_packed(&(gemm_packed_args){1, 1, 1, 1, 1, &a, packed, NULL, &y, 0}, 0, 1);
    free(packed);
    return y;
}

static const float extremes[] = {0,       -0.0F,  1,         INFINITY, -INFINITY, NAN,
                                 3.4e38F, 1e-38F, 0x1p-130F, 0x1p-64F, 1e-20F,    3.39e38F};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

/* Infinities, NaN, overflow, subnormal factors and results. */
static void check_extremes(gemm_order order, const gemm_body *body)
{
    gemm_body plain[GEMM_BODIES];
    gemm_bfloat16_bodies(CPU_BASELINE, order, plain);
    for (int i = 0; i < EXTREMES * EXTREMES; i++) {
        const float a = extremes[i / EXTREMES], b = extremes[i % EXTREMES];
        same("product", (size_t)i, product_of(body->table, a, b), product_of(plain->table, a, b));
    }
}

static void test_extreme_factors_agree(void **state)
{
    (void)state;
    on_each_body(check_extremes);
}

/* Sums of few extreme factors among tiny, huge and ordinary ones, which a fused sum keeps and two
 * roundings would lose. */
static void check_extreme_sums(gemm_order order, const gemm_body *body)
{
    enum { M = 19, N = 21, K = 70 };
    float *x = zeros(M * K), *w = zeros(N * K), *y = zeros(M * N), *start = zeros(N),
          *packed = zeros(body->table->gemm_packed_size(N, K));
    rng r = rng_seed(10);
    if (order != GEMM_TILES) goto done;
    for (int round = 0; round < 8; round++) {
        for (size_t i = 0; i < (M + N) * K; i++) {
            float *at = i < M * K ? &x[i] : &w[i - M * K];
            const double size = rng_uniform(&r, -66, round % 2 ? 66 : -60);
            *at = (float)(rng_normal(&r) * exp2(size));
            if (round > 3 && rng_next(&r) % 512 == 0) *at = extremes[rng_next(&r) % EXTREMES];
        }
        for (size_t i = 0; i < N; i++) start[i] = (float)(rng_normal(&r) * exp2(-127));
        body->table->gemm_pack(&(gemm_pack_args){N, K, w, 1, K, packed}, 0, N);
        body->table->gemm_packed(&(gemm_packed_args){M, N, K, K, N, x, packed, start, y, 0}, 0, N);
        for (size_t i = 0; i < M * N; i++)
            same(body->name, i, y[i],
                 dot_tiles(start[i % N], x + i / N * K, 1, w + i % N * K, 1, K));
    }
done:
    free(x), free(w), free(y), free(start), free(packed);
}

static void test_sums_are_fused_and_flushed(void **state)
{
    (void)state;
    on_each_body(check_extreme_sums);
}

/* The tests above multiply in the machine's tiles where it has them: this one says so. */
static void test_tiles_of_the_machine(void **state)
{
    (void)state;
    gemm_body bodies[GEMM_BODIES];
    if (cpu_best() != CPU_AVX512 || !amx_permitted()) {
        print_message(
            "SKIPPED: emulation and hardware are not compared: no AMX here, or Linux does "
            "not let this process use it\n");
        skip();
    }
    if (gemm_bfloat16_bodies(CPU_AVX512, GEMM_TILES, bodies) < 2)
        fail_msg("AMX gives other bits than tiles_emulated.h, or was not compiled in");
    assert_false(bodies[1].emulates);
}

#if defined(__x86_64__) && defined(__linux__)

extern const gemm_table gemm_tiles_amx __attribute__((weak)); /* if the compiler has AMX */

/* What the compiler made of the AMX path, tile by tile, where the machine has none. */
static void test_tile_instructions_one_by_one(void **state)
{
    (void)state;
    if (!&gemm_tiles_amx || cpu_best() != CPU_AVX512 || !__builtin_cpu_supports("avx512bf16")
        || amx_permitted()) {
        print_message("SKIPPED: tile instructions are not trapped: the compiler has no AMX, the "
                      "processor no AVX512-BF16, or it has AMX itself\n");
        skip();
    }
    const float_mode before = float_mode_set();
    const gemm_body body = {"amx, trapped", &gemm_tiles_amx, 1};
    traps_start();
    check_table(GEMM_TILES, &body);
    check_extreme_sums(GEMM_TILES, &body);
    traps_end();
    float_mode_restore(before);
    if (traps.bad) fail_msg("tile_traps.h:%d: a wrong tile instruction", traps.bad);
    assert_false(traps.configured); /* released */
    assert_true(traps.products > 1000 && traps.instructions > 2 * traps.products);
}

#else

static void test_tile_instructions_one_by_one(void **state)
{
    (void)state;
    print_message("SKIPPED: tile instructions are those of x86-64 on Linux\n");
    skip();
}

#endif

/* ---- attention ------------------------------------------------------------------------------- */

enum { KEYS = 130, HEAD_WIDTH = 20, HEAD = KEYS * HEAD_WIDTH };

/* Softmax of one head, and its gradients: out, dq, dk, dv, [4][HEAD]. */
static float *attend_both_ways(const gemm_table *t, const float *qkv, const float *dout)
{
    float *result = zeros(4 * HEAD), *lse = zeros(KEYS),
          *scratch = zeros(t->attend_scratch_size(KEYS, HEAD_WIDTH, HEAD_WIDTH, 0)
                           + t->attend_scratch_size(KEYS, HEAD_WIDTH, HEAD_WIDTH, 1));
    attend_args a = {.tokens = KEYS,
                     .width = HEAD_WIDTH,
                     .v_width = HEAD_WIDTH,
                     .q_row = HEAD_WIDTH,
                     .k_row = HEAD_WIDTH,
                     .v_row = HEAD_WIDTH,
                     .out_row = HEAD_WIDTH,
                     .scale = 0.25F,
                     .end = KEYS,
                     .q = qkv,
                     .k = qkv + HEAD,
                     .v = qkv + 2 * HEAD,
                     .out = result,
                     .lse = lse,
                     .dout = dout,
                     .dq = result + HEAD,
                     .dk = result + 2 * HEAD,
                     .dv = result + 3 * HEAD,
                     .scratch = scratch};
    t->attend(&a);
    t->attend_back(&a);
    free(lse), free(scratch);
    return result;
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

/* Attention with bfloat16 factors is that with float32 but for rounding, and has the same bits
 * whichever instructions multiply. */
static void test_attention_is_near_float32(void **state)
{
    (void)state;
    float *qkv = normals(3 * HEAD, 8), *dout = normals(HEAD, 9);
    const float_mode before = float_mode_set();
    for (int level = 0; level < CPU_LEVELS * GEMM_ORDERS; level++) {
        cpu_level found;
        ssm2d_error error;
        gemm_body bodies[GEMM_BODIES];
        if (cpu_choose(cpu_names[level / GEMM_ORDERS], &found, &error)) continue;
        const int count = gemm_bfloat16_bodies(found, level % GEMM_ORDERS, bodies);
        float *exact = attend_both_ways(gemm_for(found), qkv, dout),
              *plain = attend_both_ways(bodies[0].table, qkv, dout),
              *best = attend_both_ways(bodies[count - 1].table, qkv, dout);
        for (size_t i = 0; i < 4; i++) {
            const double error_of = distance(plain + i * HEAD, exact + i * HEAD, HEAD);
            if (error_of < 1e-4 || error_of > 0.01)
                fail_msg("%s: result %zu is %g away from float32", cpu_names[found], i, error_of);
        }
        for (size_t i = 0; i < 4 * HEAD; i++) same("attention", i, best[i], plain[i]);
        free(exact), free(plain), free(best);
    }
    float_mode_restore(before);
    free(qkv), free(dout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products_have_the_promised_bits),
                                       cmocka_unit_test(test_extreme_factors_agree),
                                       cmocka_unit_test(test_sums_are_fused_and_flushed),
                                       cmocka_unit_test(test_tiles_of_the_machine),
                                       cmocka_unit_test(test_tile_instructions_one_by_one),
                                       cmocka_unit_test(test_attention_is_near_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
