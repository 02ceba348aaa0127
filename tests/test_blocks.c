/* Results do not depend on the block that computes them: every register block of the matrix
 * products, of attention and of the convolutions gives the bits of the smallest one, and
 * elementwise functions give the same for whole vectors and for leftover lanes. Threads split work
 * into blocks, so that otherwise their number would change bits. For every instruction set of this
 * machine, in float, and in test_blocks_double.c in double. */
#include "aligned_arrays.h"
#include "problem.h"

#include "ops/simd/gemm_table.h"
#include "ops/simd/simd_ops.h"
#include "simd/simd_table.h"

#include <stdlib.h>
#include <string.h>

static real *copy_of(const real *from, size_t count)
{
    real *p = zeros(count);
    memcpy(p, from, count * sizeof(real));
    return p;
}

/* `at` and `size` identify the block. */
static void same(cpu_level level, const char *what, size_t at, size_t size, const real *got,
                 const real *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof(real)))
            fail_msg("%s, %s, index %zu, block %zu: [%zu] is %a, not %a", cpu_names[level], what,
                     at, size, i, (double)got[i], (double)want[i]);
}

typedef void level_test(cpu_level level, const simd_ops *ops, const simd_table *table);

static void on_each_level(level_test *test)
{
    for (int level = 0; level < CPU_LEVELS; level++) {
        cpu_level found;
        ssm2d_error error;
        /* this machine does not support it */
        if (cpu_choose(cpu_names[level], &found, &error)) continue;
        test(found, simd_ops_for(found), simd_for(found));
    }
}

/* ---- matrix products ------------------------------------------------------------------------- */

enum { ROWS = 27, DEPTH = 67 };

typedef void gemm_test(cpu_level level, const gemm_table *gemm);

/* Every table of this machine: with factors that are real, and bfloat16 in both orders, by
 * instructions made for them and without. */
static void on_each_gemm(gemm_test *test)
{
    for (int level = 0; level < CPU_LEVELS; level++) {
        cpu_level found;
        ssm2d_error error;
        if (cpu_choose(cpu_names[level], &found, &error)) continue; /* this machine lacks it */
        gemm_body bodies[GEMM_BODIES];
        test(found, gemm_for(found));
        for (int order = 0; order < GEMM_ORDERS; order++) {
            const int count = gemm_bfloat16_bodies(found, order, bodies);
            for (int i = 0; i < count; i++) test(found, bodies[i].table);
        }
    }
}

/* y[m][n] for the first m rows of x and the first n columns of W. */
static void product(const gemm_table *gemm, real *y, size_t m, size_t n, size_t k, const real *x,
                    const real *w, size_t columns, const real *bias, int adds)
{
    real *packed = zeros(gemm->gemm_packed_size(n, k));
    gemm->gemm_pack(&(gemm_pack_args){n, k, w, columns, 1, packed}, 0, n);
    gemm->gemm_packed(&(gemm_packed_args){m, n, k, k, columns, x, packed, bias, y, adds}, 0, n);
    free(packed);
}

/* Every row alone and all columns is the reference: other blocks have more rows, or end within the
 * columns. */
static void packed_blocks_on(cpu_level level, const gemm_table *gemm)
{
    static const size_t depths[] = {1, 8, DEPTH};
    const size_t columns = 2 * gemm->panel;
    real *x = normals(ROWS * DEPTH, 1), *w = normals(DEPTH * columns, 2),
         *bias = normals(columns, 3), *start = normals(ROWS * columns, 4);
    for (int mode = 0; mode < 3; mode++)
        for (size_t d = 0; d < 3; d++) {
            const size_t k = depths[d];
            const real *from = mode == 1 ? bias : NULL;
            real *want = copy_of(start, ROWS * columns);
            for (size_t i = 0; i < ROWS; i++)
                product(gemm, want + i * columns, 1, columns, k, x + i * k, w, columns, from,
                        mode == 2);
            for (size_t m = 1; m <= ROWS; m++)
                for (size_t n = 1; n <= columns; n++) {
                    if (m < ROWS && n < columns && n % 5) continue;
                    real *y = copy_of(start, ROWS * columns);
                    product(gemm, y, m, n, k, x, w, columns, from, mode == 2);
                    for (size_t i = 0; i < m; i++)
                        same(level, "gemm_packed", m, n, y + i * columns, want + i * columns, n);
                    free(y);
                }
            free(want);
        }
    free(x), free(w), free(bias), free(start);
}

static void packed_product_has_same_bits_in_any_block(void **state)
{
    (void)state;
    on_each_gemm(packed_blocks_on);
}

/* A row of dW comes from a column of dy: all rows at once are the reference for parts of them, and
 * for a dy of fewer columns, whose last blocks are lower. */
static void tn_blocks_on(cpu_level level, const gemm_table *gemm)
{
    const size_t k = 2 * gemm->panel + 3, m = DEPTH;
    real *x = normals(m * k, 5), *dy = normals(m * ROWS, 6), *scratch;
    real *want = zeros(ROWS * k), *bias = zeros(ROWS), *few = zeros(m * ROWS);
    scratch = zeros(gemm->gemm_tn_scratch_size(k));
    gemm->gemm_tn(&(gemm_tn_args){m, ROWS, k, k, gemm->tn_depth, 0, x, dy, want, bias, 0},
                  &(gemm_tn_part){0, ROWS, 0, k}, scratch);
    for (size_t n = 1; n <= ROWS; n++)
        for (size_t left = 0; left < k; left += gemm->panel) {
            real *dw = zeros(ROWS * k), *db = zeros(ROWS);
            for (size_t i = 0; i < m; i++) memcpy(few + i * n, dy + i * ROWS, n * sizeof(real));
            const gemm_tn_args args = {m, n, k, k, gemm->tn_depth, 0, x, few, dw, db, 0};
            for (size_t first = 0; first < n; first += gemm->tn_rows) {
                const size_t end = first + gemm->tn_rows < n ? first + gemm->tn_rows : n;
                if (left) gemm->gemm_tn(&args, &(gemm_tn_part){first, end, 0, left}, scratch);
                gemm->gemm_tn(&args, &(gemm_tn_part){first, end, left, k}, scratch);
            }
            same(level, "gemm_tn", n, left, dw, want, n * k);
            same(level, "gemm_tn, bias", n, left, db, bias, n);
            free(dw), free(db);
        }
    free(x), free(dy), free(want), free(bias), free(few), free(scratch);
}

static void tn_product_has_same_bits_in_any_block(void **state)
{
    (void)state;
    on_each_gemm(tn_blocks_on);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The reference for ranges of queries computes every query by itself. */
static void attention_blocks_on(cpu_level level, const gemm_table *gemm)
{
    enum { TOKENS_HERE = 37, MAX_WIDTH = 20 };
    static const size_t widths[] = {3, 8, MAX_WIDTH};
    real *q = normals(TOKENS_HERE * MAX_WIDTH, 7), *k = normals(TOKENS_HERE * MAX_WIDTH, 8),
         *v = normals(TOKENS_HERE * MAX_WIDTH, 9), *bias = normals(TOKENS_HERE * TOKENS_HERE, 10);
    for (int laplace = 0; laplace < 2; laplace++)
        for (size_t w = 0; w < 3; w++) {
            const size_t width = widths[w], T = TOKENS_HERE;
            real *want = zeros(T * width), *lse = zeros(T),
                 *scratch = zeros(gemm->attend_scratch_size(T, width, width, 0));
            attend_args a = {.tokens = T,
                             .width = width,
                             .v_width = width,
                             .q_row = width,
                             .k_row = width,
                             .v_row = width,
                             .out_row = width,
                             .scale = (real)0.4,
                             .laplace = laplace,
                             .q = q,
                             .k = k,
                             .v = v,
                             .bias = bias,
                             .bias_row = (ptrdiff_t)T,
                             .scratch = scratch};
            for (size_t i = 0; i < T; i++) {
                a.out = want, a.lse = lse, a.first = i, a.end = i + 1;
                gemm->attend(&a);
            }
            for (size_t count = 2; count <= T; count++) {
                real *out = zeros(T * width), *found = zeros(T);
                a.out = out, a.lse = found;
                for (a.first = 0; a.first < T; a.first = a.end) {
                    a.end = a.first + count < T ? a.first + count : T;
                    gemm->attend(&a);
                }
                same(level, laplace ? "attend, laplace" : "attend", width, count, out, want,
                     T * width);
                same(level, "attend, lse", width, count, found, lse, T);
                free(out), free(found);
            }
            free(want), free(lse), free(scratch);
        }
    free(q), free(k), free(v), free(bias);
}

static void attention_has_same_bits_in_any_block(void **state)
{
    (void)state;
    on_each_gemm(attention_blocks_on);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* The block of one image and one column is the reference. */
static void correlate_blocks_on(cpu_level level, const simd_ops *ops, const simd_table *table)
{
    (void)ops;
    enum { LINES = 3, LENGTH = 9 };
    const ptrdiff_t lanes = table->lanes, cells = CORRELATE_MAX_C + LENGTH, row = cells * lanes;
    const size_t count = CORRELATE_MAX_A * CORRELATE_MAX_C * (size_t)lanes;
    real *x = normals((size_t)(LINES * row), 11),
         *y = normals((size_t)(CORRELATE_MAX_A * LINES * row), 12), *start = normals(count, 13);
    const real *inner = x + CORRELATE_MAX_C * lanes; /* x is read from -(C - 1) on */
    for (int A = 1; A <= CORRELATE_MAX_A; A++)
        for (int C = 1; C <= CORRELATE_MAX_C; C++) {
            if (!table->correlate[A][C]) continue;
            real *got = copy_of(start, count), *want = copy_of(start, count);
            table->correlate[A][C](got, C * lanes, inner, row, y, row, LINES * row, LINES, LENGTH);
            for (int a = 0; a < A; a++)
                for (int c = 0; c < C; c++)
                    table->correlate[1][1](want + (a * C + c) * lanes, 0, inner - c * lanes, row,
                                           y + a * LINES * row, row, 0, LINES, LENGTH);
            same(level, "correlate", (size_t)A, (size_t)C, got, want, count);
            free(got), free(want);
        }
    free(x), free(y), free(start);
}

static void correlation_has_same_bits_in_any_block(void **state)
{
    (void)state;
    on_each_level(correlate_blocks_on);
}

static void axis_blocks_on(cpu_level level, const simd_ops *ops, const simd_table *table)
{
    (void)ops;
    enum { BLOCKS = 2, LENGTH = 9, LINES = BLOCKS * CORRELATE_MAX_A };
    const axis_functions *axis = &table->axis;
    const ptrdiff_t lanes = table->lanes, line = (LENGTH + CORRELATE_MAX_C) * lanes;
    const size_t count = (size_t)(LINES * line);
    real *in = normals(count, 14), *start = normals(count, 15), *taps = normals(count, 16);
    const ptrdiff_t center = CORRELATE_MAX_C * lanes; /* taps of both signs */
    for (int A = 1; A <= CORRELATE_MAX_A; A++)
        for (int C = 1; C <= CORRELATE_MAX_C; C++) {
            if (!axis->convolve[A][C]) continue;
            for (int scaled = 0; scaled < 2; scaled++) {
                real *got = copy_of(start, count), *want = copy_of(start, count);
                const real *scale = scaled ? taps : NULL;
                axis->convolve[A][C](got, line, lanes, taps + center, in, line, lanes, LENGTH,
                                     BLOCKS, scale);
                for (int a = 0; a < A * BLOCKS; a++)
                    for (int c = 0; c < C; c++)
                        axis->convolve[1][1](want + a * line + c * lanes, line, lanes,
                                             taps + center - c * lanes, in + a * line, line, lanes,
                                             LENGTH, 1, scale);
                same(level, "axis.convolve", (size_t)A, (size_t)C, got, want, count);
                free(got), free(want);
            }
            real *got = copy_of(start, count), *want = copy_of(start, count);
            axis->gradient[A][C](got + center, in, line, lanes, taps, line, lanes, LENGTH, 1);
            for (int a = 0; a < A; a++)
                for (int c = 0; c < C; c++)
                    axis->gradient[1][1](want + center + (a - c) * lanes, in + a * line, line,
                                         lanes, taps + c * line, line, lanes, LENGTH, 1);
            same(level, "axis.gradient", (size_t)A, (size_t)C, got, want, count);
            free(got), free(want);
        }
    free(in), free(start), free(taps);
}

static void axis_convolution_has_same_bits_in_any_block(void **state)
{
    (void)state;
    on_each_level(axis_blocks_on);
}

/* ---- elementwise functions ------------------------------------------------------------------- */

enum { COUNT = 41, MAPS = 8, RESULTS = 4 };

/* Function `which` of n elements from `at` on. in: five arrays; out: RESULTS arrays, to which
 * gradients are added. */
static void map(const simd_ops *ops, int which, real *const *in, real *const *out, size_t at,
                size_t n)
{
    const real *x = in[0] + at, *d = in[1] + at, *u = in[2] + at, *h = in[3] + at, *p = in[4] + at;
    real *y = out[0] + at;
    switch (which) {
    case 0: ops->gelu(y, x, n); break;
    case 1: ops->gelu_back(y, d, x, n, 1); break;
    case 2: ops->silu(y, x, n); break;
    case 3: ops->silu_back(y, d, x, n, 1); break;
    case 4: ops->sigmoid_back(y, d, x, n, 1); break;
    case 5:
        ops->silu_gate(out[0] + at, x, u, n);
        ops->silu_gate_back(&(silu_gate_args){x, u, d, out[1] + at, out[2] + at, {1, 0}}, n);
        break;
    case 6:
        ops->gated_update(&(gated_update_args){.x = x, .u = u, .h = h, .p = p, .y = y}, n);
        break;
    default:
        ops->gated_update_back(
            &(gated_update_args){
                x, u, h, p, d, NULL, y, out[1] + at, out[2] + at, out[3] + at, {1, 1, 1, 0}},
            n);
    }
}

/* The reference computes every element by itself. */
static void elementwise_on(cpu_level level, const simd_ops *ops, const simd_table *table)
{
    (void)table;
    static const char *const names[MAPS] = {"gelu",         "gelu_back",        "silu",
                                            "silu_back",    "sigmoid_back",     "silu_gate",
                                            "gated_update", "gated_update_back"};
    real *in[5], *got[RESULTS], *want[RESULTS];
    for (int i = 0; i < 5; i++) in[i] = normals(COUNT, 20 + (uint64_t)i);
    for (int which = 0; which < MAPS; which++)
        for (size_t n = 1; n <= COUNT; n++) {
            for (int r = 0; r < RESULTS; r++) {
                got[r] = normals(COUNT, 30 + (uint64_t)r);
                want[r] = copy_of(got[r], COUNT);
            }
            map(ops, which, in, got, 0, n);
            for (size_t i = 0; i < n; i++) map(ops, which, in, want, i, 1);
            for (int r = 0; r < RESULTS; r++) {
                same(level, names[which], (size_t)r, n, got[r], want[r], COUNT);
                free(got[r]), free(want[r]);
            }
        }
    for (int i = 0; i < 5; i++) free(in[i]);
}

static void scalar_and_vector_results_have_same_bits(void **state)
{
    (void)state;
    on_each_level(elementwise_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_product_has_same_bits_in_any_block),
        cmocka_unit_test(tn_product_has_same_bits_in_any_block),
        cmocka_unit_test(attention_has_same_bits_in_any_block),
        cmocka_unit_test(correlation_has_same_bits_in_any_block),
        cmocka_unit_test(axis_convolution_has_same_bits_in_any_block),
        cmocka_unit_test(scalar_and_vector_results_have_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
