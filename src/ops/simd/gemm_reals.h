/* gemm_reals - what gemm_block.h, gemm_packed.h and gemm_tn.h need of factors that are real: how
 * they are multiplied, packed and read. gemm_pairs.h has the same for bfloat16. */

/* sum + left * right */
INLINE vec accumulate(const real *left, vec right, vec sum)
{
    return mul_add(all(*left), right, sum);
}

/* Steps of `accumulate` for k products. */
INLINE size_t steps_of(size_t k) { return k; }

/* ---- x, W: gemm_packed.h --------------------------------------------------------------------- */

/* How many of so many steps a block takes at once: all of them. */
enum { CHUNK_SCRATCH = 1 };
INLINE size_t chunk_steps(size_t steps) { return steps; }

/* Where a block finds rows of x from a step on, and how far apart they are. */
INLINE const real *chunk_of_x(real *scratch, const real *x, size_t x_row, size_t rows, size_t first,
                              size_t steps, size_t k, size_t *row)
{
    (void)scratch, (void)rows, (void)steps, (void)k;
    *row = x_row;
    return x + first;
}

/* A panel of W whose rows are contiguous. */
INLINE void pack_rows(real *to, const real *from, size_t row, size_t k)
{
    for (size_t l = 0; l < k; l++, to += PANEL, from += row) {
        store(to, load(from));
        store(to + LANES, load(from + LANES));
    }
}

/* A panel of any W, a few of its rows at a time, which then are in the cache for all columns. */
static void pack_columns(real *to, const real *from, size_t row, size_t column, size_t k,
                         size_t cols)
{
    enum { ROWS = LINE };
    for (size_t l = 0; l < k; l += ROWS, to += ROWS * PANEL) {
        const size_t rows = k - l < ROWS ? k - l : ROWS;
        for (size_t j = 0; j < PANEL; j++) {
            const real *at = from + l * row + j * column;
            if (j < cols && row == 1 && rows == ROWS)
                for (size_t r = 0; r < ROWS; r++) to[r * PANEL + j] = at[r];
            else
                for (size_t r = 0; r < rows; r++) to[r * PANEL + j] = j < cols ? at[r * row] : 0;
        }
    }
}

/* ---- x, dy: gemm_tn.h ------------------------------------------------------------------------ */

enum { TN_DEPTH = 256 };
#ifdef MANY_REGISTERS
enum { TN_COPIES = 0, TN_COPY = BLOCK_MAX };
/* What preparing a column of x or of dy costs, in columns of products: from times of dW cut in
 * different ways. */
enum { TN_COST_X = 12, TN_COST_DY = 20 };
#else
enum { TN_COPIES = 1, TN_COPY = 2 * BLOCK_MAX };
enum { TN_COST_X = 6, TN_COST_DY = 29 };
#endif

/* One panel, or the first `width` columns of it. */
INLINE void tn_pack_panel(real *to, const real *from, size_t x_row, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r++, from += x_row)
        if (width == PANEL) {
            store(to + r * PANEL, load(from));
            store(to + r * PANEL + LANES, load(from + LANES));
        } else {
            for (size_t d = 0; d < PANEL; d++) to[r * PANEL + d] = d < width ? from[d] : 0;
        }
}

/* to[rows][TN_COPY] = `cols` columns of dy */
INLINE void tn_copy(real *to, const real *dy, size_t dy_row, size_t rows, size_t cols)
{
    enum { QUAD = 4 };
    typedef real quad
        __attribute__((vector_size(QUAD * sizeof(real)), aligned(sizeof(real)), may_alias));
    for (size_t r = 0; r < rows; r++, to += TN_COPY, dy += dy_row)
        if (cols == TN_COPY)
            for (size_t d = 0; d < TN_COPY; d += QUAD)
                *(quad *)(void *)(to + d) = *(const quad *)(const void *)(dy + d);
        else
            for (size_t d = 0; d < cols; d++) to[d] = dy[d];
}
