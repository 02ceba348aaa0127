/* short_rows - a convolution with seven taps a row, in place in arrays whose channels are
 * contiguous; simd_table.h has the formula (short_rows_fn).
 *
 * The seven taps of a row and C sums stay in registers; each input vector is loaded once and
 * multiplied by all taps that use it. Whether a block touches the left or right edge of the grid is
 * a compile-time constant, so loads beyond the edge are omitted without a branch. More sums hide
 * more of the latency of the multiply-adds: a block is as wide as the registers allow. */

INLINE void short_rows_block(const int edges, const int C, real *out, ptrdiff_t out_col,
                             const real *start, ptrdiff_t start_col, const real *k, ptrdiff_t k_row,
                             const real *in, ptrdiff_t in_row, ptrdiff_t in_col, int rows)
{
    const int first = edges & SHORT_LEFT ? SHORT_REACH : 0;
    const int end = C + (edges & SHORT_RIGHT ? SHORT_REACH : 2 * SHORT_REACH);
    vec sum[SHORT_MAX_C];
#pragma GCC unroll 16
    for (int c = 0; c < C; c++) sum[c] = load(start + c * start_col);
    for (int r = 0; r < rows; r++, k += k_row, in += in_row) {
        vec tap[SHORT_TAPS];
#pragma GCC unroll 8
        for (int w = 0; w < SHORT_TAPS; w++) tap[w] = load(k + w * LANES);
#pragma GCC unroll 32
        for (int t = first; t < end; t++) {
            const vec x = load(in + t * in_col);
#pragma GCC unroll 16
            for (int c = 0; c < C; c++)
                if (t - c >= 0 && t - c < SHORT_TAPS) sum[c] = mul_add(x, tap[t - c], sum[c]);
        }
    }
#pragma GCC unroll 16
    for (int c = 0; c < C; c++) store(out + c * out_col, sum[c]);
}

#define SHORT_ROWS(edges, C)                                                                       \
    static void short_rows_##edges##_##C(                                                          \
        real *out, ptrdiff_t out_col, const real *start, ptrdiff_t start_col, const real *k,       \
        ptrdiff_t k_row, const real *in, ptrdiff_t in_row, ptrdiff_t in_col, int rows)             \
    {                                                                                              \
        short_rows_block(edges, C, out, out_col, start, start_col, k, k_row, in, in_row, in_col,   \
                         rows);                                                                    \
    }

/* clang-format off */
#define SHORT_ROWS_OF(edges) \
    SHORT_ROWS(edges, 4) SHORT_ROWS(edges, 5) SHORT_ROWS(edges, 6) SHORT_ROWS(edges, 7) \
    SHORT_ROWS(edges, 8) SHORT_ROWS_WIDE(edges)
#define SHORT_ROWS_LINE(edges) \
    {NULL, NULL, NULL, NULL, short_rows_##edges##_4, short_rows_##edges##_5, \
     short_rows_##edges##_6, short_rows_##edges##_7, short_rows_##edges##_8, \
     SHORT_ROWS_LINE_WIDE(edges)}
#ifdef MANY_REGISTERS
#define SHORT_ROWS_WIDE(edges) \
    SHORT_ROWS(edges, 9) SHORT_ROWS(edges, 10) SHORT_ROWS(edges, 11) SHORT_ROWS(edges, 12) \
    SHORT_ROWS(edges, 13) SHORT_ROWS(edges, 14) SHORT_ROWS(edges, 15) SHORT_ROWS(edges, 16)
#define SHORT_ROWS_LINE_WIDE(edges) \
    short_rows_##edges##_9, short_rows_##edges##_10, short_rows_##edges##_11, \
    short_rows_##edges##_12, short_rows_##edges##_13, short_rows_##edges##_14, \
    short_rows_##edges##_15, short_rows_##edges##_16
#else
#define SHORT_ROWS_WIDE(edges)
#define SHORT_ROWS_LINE_WIDE(edges) NULL
#endif

/* It pays only with fused multiply-adds and at least sixteen vector registers. */
#if FUSED && !defined(REAL_IS_DOUBLE)
SHORT_ROWS_OF(0) SHORT_ROWS_OF(1) SHORT_ROWS_OF(2) SHORT_ROWS_OF(3)
#define SHORT_ROWS_TABLE \
    {SHORT_ROWS_LINE(0), SHORT_ROWS_LINE(1), SHORT_ROWS_LINE(2), SHORT_ROWS_LINE(3)}
#else
#define SHORT_ROWS_TABLE {{NULL}}
#endif
    /* clang-format on */
