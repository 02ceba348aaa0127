/* correlate - the register-blocked inner loop of the direct convolution; simd_table.h has the
 * formula (correlate_fn).
 *
 * A*C accumulators stay in registers over all rows; each step loads A vectors of y and C of x for
 * A*C products, so that the two load ports keep up with the two multipliers. Eight accumulators or
 * more hide the latency of the products. */

INLINE void correlate_block(const int A, const int C, real *acc, ptrdiff_t acc_a, const real *x,
                            ptrdiff_t x_row, const real *y, ptrdiff_t y_row, ptrdiff_t y_a,
                            int rows, int n)
{
    vec sum[CORRELATE_MAX_A * CORRELATE_MAX_C];
#pragma GCC unroll 8
    for (int a = 0; a < A; a++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) sum[a * C + c] = load(acc + a * acc_a + c * LANES);
    for (int r = 0; r < rows; r++, x += x_row, y += y_row) {
        const real *xt = x, *yt = y;
        for (int t = 0; t < n; t++, xt += LANES, yt += LANES) {
            vec one[CORRELATE_MAX_A];
#pragma GCC unroll 8
            for (int a = 0; a < A; a++) one[a] = load(yt + a * y_a);
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) {
                vec tap = load(xt - c * LANES);
#pragma GCC unroll 8
                for (int a = 0; a < A; a++) sum[a * C + c] = mul_add(tap, one[a], sum[a * C + c]);
            }
        }
    }
#pragma GCC unroll 8
    for (int a = 0; a < A; a++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) store(acc + a * acc_a + c * LANES, sum[a * C + c]);
}

#define CORRELATE(A, C)                                                                            \
    static void correlate_##A##_##C(real *acc, ptrdiff_t acc_a, const real *x, ptrdiff_t x_row,    \
                                    const real *y, ptrdiff_t y_row, ptrdiff_t y_a, int rows,       \
                                    int n)                                                         \
    {                                                                                              \
        correlate_block(A, C, acc, acc_a, x, x_row, y, y_row, y_a, rows, n);                       \
    }

/* clang-format off */

CORRELATE(1, 1) CORRELATE(1, 2) CORRELATE(1, 3) CORRELATE(1, 4)
CORRELATE(1, 5) CORRELATE(1, 6) CORRELATE(1, 7) CORRELATE(1, 8)
CORRELATE(2, 1) CORRELATE(2, 2) CORRELATE(2, 3) CORRELATE(2, 4) CORRELATE(2, 5) CORRELATE(2, 6)
CORRELATE(3, 1) CORRELATE(3, 2) CORRELATE(3, 3) CORRELATE(3, 4)
#ifdef MANY_REGISTERS
CORRELATE(4, 1) CORRELATE(4, 2) CORRELATE(4, 3) CORRELATE(4, 4) CORRELATE(4, 5)
/* AArch64 has no memory operands: the six taps of the widest block need registers too, and some of
 * its 24 sums would be spilled. */
#if defined(__aarch64__)
#define correlate_4_6 NULL
#else
CORRELATE(4, 6)
#endif
#define CORRELATE_TABLE_4 \
    {NULL, correlate_4_1, correlate_4_2, correlate_4_3, correlate_4_4, correlate_4_5, correlate_4_6}
#else
#define CORRELATE_TABLE_4 {NULL}
#endif

#define CORRELATE_TABLE { \
    {NULL}, \
    {NULL, correlate_1_1, correlate_1_2, correlate_1_3, correlate_1_4, \
           correlate_1_5, correlate_1_6, correlate_1_7, correlate_1_8}, \
    {NULL, correlate_2_1, correlate_2_2, correlate_2_3, correlate_2_4, correlate_2_5, \
           correlate_2_6}, \
    {NULL, correlate_3_1, correlate_3_2, correlate_3_3, correlate_3_4}, \
    CORRELATE_TABLE_4, \
}
