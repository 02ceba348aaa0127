/* axis - convolutions along one axis of a tile, all taps of both signs; simd_table.h has the
 * formulas.
 *
 * A lines x C positions stay in registers over the whole line, as in correlate.h, but lines and
 * positions may be any distance apart: the same body serves rows and columns. No product is wasted,
 * because every position of a line depends on every other. */

INLINE void axis_convolve_block(const int A, const int C, real *out, ptrdiff_t out_line,
                                ptrdiff_t out_step, const real *taps, const real *in,
                                ptrdiff_t in_line, ptrdiff_t in_step, int n, int blocks,
                                const real *scale)
{
    for (; blocks; blocks--, in += A * in_line, out += A * out_line) {
        vec sum[CORRELATE_MAX_A * CORRELATE_MAX_C];
#pragma GCC unroll 32
        for (int i = 0; i < A * C; i++) sum[i] = (vec){0};
        const real *tap_at = taps, *in_at = in;
        for (int t = 0; t < n; t++, tap_at += LANES, in_at += in_step) {
            vec one[CORRELATE_MAX_A];
#pragma GCC unroll 8
            for (int a = 0; a < A; a++) one[a] = load(in_at + a * in_line);
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) {
                vec tap = load(tap_at - c * LANES);
#pragma GCC unroll 8
                for (int a = 0; a < A; a++) sum[a * C + c] = mul_add(tap, one[a], sum[a * C + c]);
            }
        }
#pragma GCC unroll 8
        for (int a = 0; a < A; a++)
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) {
                real *to = out + a * out_line + c * out_step;
                store(to, scale ? mul_add(load(scale), load(to), sum[a * C + c]) : sum[a * C + c]);
            }
    }
}

INLINE void axis_gradient_block(const int A, const int C, real *dtaps, const real *y,
                                ptrdiff_t y_line, ptrdiff_t y_step, const real *x, ptrdiff_t x_line,
                                ptrdiff_t x_step, int n, int blocks)
{
    for (; blocks; blocks--, y += A * y_line, dtaps += A * LANES) {
        vec sum[CORRELATE_MAX_A * CORRELATE_MAX_C];
#pragma GCC unroll 32
        for (int i = 0; i < A * C; i++) sum[i] = (vec){0};
        const real *x_at = x, *y_at = y;
        for (int t = 0; t < n; t++, x_at += x_step, y_at += y_step) {
            vec one[CORRELATE_MAX_A];
#pragma GCC unroll 8
            for (int a = 0; a < A; a++) one[a] = load(y_at + a * y_line);
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) {
                vec other = load(x_at + c * x_line);
#pragma GCC unroll 8
                for (int a = 0; a < A; a++) sum[a * C + c] = mul_add(other, one[a], sum[a * C + c]);
            }
        }
        /* Pairs with the same offset a - c share a tap. */
#pragma GCC unroll 16
        for (int o = 1 - C; o < A; o++) {
            vec diagonal = load(dtaps + o * LANES);
#pragma GCC unroll 8
            for (int c = 0; c < C; c++)
                if (o + c >= 0 && o + c < A) diagonal += sum[(o + c) * C + c];
            store(dtaps + o * LANES, diagonal);
        }
    }
}

#define AXIS(A, C)                                                                                 \
    static void axis_convolve_##A##_##C(real *out, ptrdiff_t out_line, ptrdiff_t out_step,         \
                                        const real *taps, const real *in, ptrdiff_t in_line,       \
                                        ptrdiff_t in_step, int n, int blocks, const real *scale)   \
    {                                                                                              \
        axis_convolve_block(A, C, out, out_line, out_step, taps, in, in_line, in_step, n, blocks,  \
                            scale);                                                                \
    }                                                                                              \
    static void axis_gradient_##A##_##C(real *dtaps, const real *y, ptrdiff_t y_line,              \
                                        ptrdiff_t y_step, const real *x, ptrdiff_t x_line,         \
                                        ptrdiff_t x_step, int n, int blocks)                       \
    {                                                                                              \
        axis_gradient_block(A, C, dtaps, y, y_line, y_step, x, x_line, x_step, n, blocks);         \
    }

/* clang-format off */

AXIS(1, 1) AXIS(1, 2) AXIS(1, 3) AXIS(1, 4) AXIS(1, 5) AXIS(1, 6) AXIS(1, 7) AXIS(1, 8)
AXIS(2, 1) AXIS(2, 2) AXIS(2, 3) AXIS(2, 4) AXIS(2, 5) AXIS(2, 6)
AXIS(3, 1) AXIS(3, 2) AXIS(3, 3) AXIS(3, 4)
#ifdef MANY_REGISTERS
AXIS(4, 1) AXIS(4, 2) AXIS(4, 3) AXIS(4, 4) AXIS(4, 5)
#define AXIS_ROW_4(f) {NULL, f##_4_1, f##_4_2, f##_4_3, f##_4_4, f##_4_5}
#else
#define AXIS_ROW_4(f) {NULL}
#endif

#define AXIS_TABLE(f) { \
    {NULL}, \
    {NULL, f##_1_1, f##_1_2, f##_1_3, f##_1_4, f##_1_5, f##_1_6, f##_1_7, f##_1_8}, \
    {NULL, f##_2_1, f##_2_2, f##_2_3, f##_2_4, f##_2_5, f##_2_6}, \
    {NULL, f##_3_1, f##_3_2, f##_3_3, f##_3_4}, \
    AXIS_ROW_4(f), \
}
    /* clang-format on */

    /* Four independent sums hide the latency of the products. */
    static void axis_dot(real *acc, const real *x, const real *y, size_t n)
{
    vec sum[4] = {{0}};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++)
            sum[k] = mul_add(load(x + (i + k) * LANES), load(y + (i + k) * LANES), sum[k]);
    for (; i < n; i++) sum[0] = mul_add(load(x + i * LANES), load(y + i * LANES), sum[0]);
    store(acc, load(acc) + ((sum[0] + sum[1]) + (sum[2] + sum[3])));
}
