/* gemm_pairs - what gemm_block.h, gemm_packed.h and gemm_tn.h need of factors that are bfloat16:
 * how they are multiplied, packed and read. gemm_reals.h has the same for real.
 *
 * Factors are in pairs (gemm_rounding.h). A panel of pairs lies in memory as one of half as many
 * reals does, and the blocks are those of reals.
 *
 * The product of two bfloat16 is exact in float32. A step adds that of the second factors of two
 * pairs and then that of the first, each sum rounded, which is what vdpbf16ps does: the bits are
 * the same with every instruction set. */

/* sum + left * right of pairs */
INLINE vec accumulate(const real *left, vec right, vec sum)
{
    uint32_t pair;
    __builtin_memcpy(&pair, left, sizeof pair);
    const words l = pair - (words){0}, r = (words)right;
#if defined(__AVX512BF16__)
    return _mm512_dpbf16_ps(sum, (__m512bh)l, (__m512bh)r);
#else
    sum = mul_add((vec)(l & 0xffff0000), (vec)(r & 0xffff0000), sum);
    return mul_add((vec)(l << 16), (vec)(r << 16), sum);
#endif
}

/* ---- x, W: gemm_packed.h --------------------------------------------------------------------- */

/* How many of so many steps a block takes at once: as many pairs of its rows of x are on the stack.
 * Rows are a line longer, so that they fall on different sets of the cache. */
enum { CHUNK = 512, CHUNK_ROW = CHUNK + LINE, CHUNK_SCRATCH = BLOCK_MAX * CHUNK_ROW };
INLINE size_t chunk_steps(size_t steps) { return steps < CHUNK ? steps : CHUNK; }

INLINE const real *chunk_of_x(real *scratch, const real *x, size_t x_row, size_t rows, size_t first,
                              size_t steps, size_t k, size_t *row)
{
    const size_t left = k - 2 * first, count = left < 2 * steps ? left : 2 * steps;
    for (size_t i = 0; i < rows; i++)
        round_row(scratch + i * CHUNK_ROW, x + i * x_row + 2 * first, count);
    *row = CHUNK_ROW;
    return scratch;
}

/* A panel of W whose rows are contiguous. */
INLINE void pack_rows(real *to, const real *from, size_t row, size_t k)
{
    for (size_t l = 0; l < k; l += 2, to += PANEL, from += 2 * row)
        for (int j = 0; j < PANEL; j += LANES) {
            const vec second = l + 1 < k ? load(from + row + j) : (vec){0};
            store(to + j, pairs_of(load(from + j), second));
        }
}

/* A panel of any W, some pairs of its columns at a time. */
static void pack_columns(real *to, const real *from, size_t row, size_t column, size_t k,
                         size_t cols)
{
    enum { ROWS = 2 * LINE };
    for (size_t l = 0; l < k; l += ROWS, to += ROWS / 2 * PANEL) {
        const size_t rows = k - l < ROWS ? k - l : ROWS, steps = steps_of(rows);
        for (size_t j = 0; j < PANEL; j++) {
            const real *at = from + l * row + j * column;
            real here[ROWS], pairs[LINE] = {0};
            for (size_t r = 0; r < rows && j < cols; r++) here[r] = at[r * row];
            if (j < cols) round_row(pairs, here, rows);
            for (size_t r = 0; r < steps; r++)
                __builtin_memcpy(to + r * PANEL + j, pairs + r, sizeof *pairs);
        }
    }
}

/* ---- x, dy: gemm_tn.h ------------------------------------------------------------------------ */

enum { TN_DEPTH = 512 };
/* Columns of dy that are rounded at once. */
enum { TN_COPIES = 1, TN_COPY = 48 };
enum { TN_COST_X = 20, TN_COST_DY = 20 };

/* One panel, or the first `width` columns of it. */
INLINE void tn_pack_panel(real *to, const real *from, size_t x_row, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r += 2, from += 2 * x_row, to += PANEL)
        for (size_t j = 0; j < PANEL; j += LANES)
            store(to + j, pair_part(from + j, r + 1 < rows ? from + x_row + j : NULL,
                                    j < width ? width - j : 0));
}

/* to[pairs of rows][TN_COPY] = `cols` columns of dy */
INLINE void tn_copy(real *to, const real *dy, size_t dy_row, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r += 2, to += TN_COPY, dy += 2 * dy_row)
        for (size_t j = 0; j < cols; j += LANES)
            store(to + j, pair_part(dy + j, r + 1 < rows ? dy + dy_row + j : NULL, cols - j));
}
