/* gemm_block - a block of a matrix product in registers: C (+)= A B, where B is a panel of columns,
 * packed, and A is read element by element. gemm_packed.h and gemm_tn.h are made of it. Elements of
 * A and B are real, or pairs of bfloat16 in as many bits (gemm_pairs.h).
 *
 * Blocks are so large that the multiplications take longer than reading a panel from the second
 * cache. What costs is what is not in the caches yet: so while a block is computed, lines of memory
 * that the next ones need are fetched, one every few steps. All at once they would be in the way of
 * what is needed now. */

enum { UNROLL = 8 };

/* Lines of memory to be fetched: of `rows` rows, `step` elements apart, first all first lines. */
typedef struct ahead {
    const real *at;
    size_t step, rows, row, left;
} ahead;

INLINE ahead fetch_rows(const real *first, size_t step, size_t rows, size_t count)
{
    return (ahead){first, step, rows, 0, rows * ((count + LINE - 1) / LINE)};
}

INLINE void fetch_next(ahead *f, int to_write)
{
    if (!f->left) return;
    if (to_write)
        __builtin_prefetch(f->at, 1, 3);
    else
        __builtin_prefetch(f->at, 0, 2);
    f->left--;
    f->at += f->step;
    if (++f->row == f->rows) {
        f->row = 0;
        f->at += LINE - f->rows * f->step;
    }
}

/* C: rows c_row elements apart, of which the first `columns` columns are written. A: rows a_row and
 * columns a_step elements apart. The sums begin with C where `adds` is set, else with the bias
 * (PANEL elements) unless that is NULL. */
typedef struct block_args {
    real *c;
    const real *a, *panel, *bias;
    size_t c_row, a_row, a_step, k, columns;
    int adds;
    ahead read, written;
} block_args;

/* Three rows of A have their addresses in common, for which there are registers. */
INLINE void block_step(int rows, int vectors, vec (*sum)[2], const real *a, size_t a_row,
                       const real *panel)
{
    vec right[2];
    const size_t three = 3 * a_row;
    for (int j = 0; j < vectors; j++) right[j] = load(panel + j * LANES);
    for (int i = 0; i < rows; i++) {
        const real *left = &a[(size_t)(i / 3) * three + (size_t)(i % 3) * a_row];
        for (int j = 0; j < vectors; j++) sum[i][j] = accumulate(left, right[j], sum[i][j]);
    }
}

INLINE void block(int rows, int vectors, block_args *p, size_t a_row, size_t a_step, int to_write)
{
    vec sum[BLOCK_MAX][2];
    const real *a = p->a, *panel = p->panel;
    const size_t k = p->k;
    ahead read = p->read, written = p->written;
    size_t l = 0;
    for (int j = 0; j < vectors; j++) {
        const vec start = p->bias && !p->adds ? load(p->bias + j * LANES) : (vec){0};
        for (int i = 0; i < rows; i++) sum[i][j] = start;
    }
    if (p->adds)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < vectors; j++)
                sum[i][j] = load(p->c + (size_t)i * p->c_row + j * LANES);
    for (; l + UNROLL <= k; l += UNROLL) {
        fetch_next(&read, 0);
        if (!to_write) fetch_next(&read, 0); /* dW has fewer blocks for as many lines */
        fetch_next(&written, to_write);
#pragma GCC unroll 8
        for (int u = 0; u < UNROLL; u++, a += a_step, panel += PANEL)
            block_step(rows, vectors, sum, a, a_row, panel);
    }
    for (; l < k; l++, a += a_step, panel += PANEL) block_step(rows, vectors, sum, a, a_row, panel);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) store(p->c + (size_t)i * p->c_row + j * LANES, sum[i][j]);
    p->read = read;
    p->written = written;
}

/* The blocks of so many rows: A with rows of its own (its columns are side by side), or with
 * columns of its own (its rows are side by side). */
#define BLOCK(rows)                                                                                \
    static void by_rows_##rows(block_args *p)                                                      \
    {                                                                                              \
        if (p->columns > (size_t)LANES)                                                            \
            block(rows, 2, p, p->a_row, 1, 1);                                                     \
        else                                                                                       \
            block(rows, 1, p, p->a_row, 1, 1);                                                     \
    }                                                                                              \
    static void by_columns_##rows(block_args *p)                                                   \
    {                                                                                              \
        if (p->columns > (size_t)LANES)                                                            \
            block(rows, 2, p, 1, p->a_step, 0);                                                    \
        else                                                                                       \
            block(rows, 1, p, 1, p->a_step, 0);                                                    \
    }

BLOCK(1)
BLOCK(2)
BLOCK(4)
BLOCK(6)
#ifdef MANY_REGISTERS
BLOCK(12)
#endif

/* Returns how many rows to take at once when m are left. */
INLINE size_t block_rows(size_t m)
{
    return m >= BLOCK_MAX ? BLOCK_MAX : m >= 6 ? 6 : m >= 4 ? 4 : m >= 2 ? 2 : 1;
}

INLINE void run_block(size_t rows, block_args *p, int by_rows)
{
    switch (rows) {
#ifdef MANY_REGISTERS
    case 12: (by_rows ? by_rows_12 : by_columns_12)(p); break;
#endif
    case 6: (by_rows ? by_rows_6 : by_columns_6)(p); break;
    case 4: (by_rows ? by_rows_4 : by_columns_4)(p); break;
    case 2: (by_rows ? by_rows_2 : by_columns_2)(p); break;
    default: (by_rows ? by_rows_1 : by_columns_1)(p); break;
    }
}

/* Rows of C for one panel. Where C has fewer columns than the block's vectors, they are computed
 * beside it. */
INLINE void run_columns(size_t rows, block_args *p, int by_rows)
{
    if (p->columns == (size_t)PANEL || p->columns == (size_t)LANES) {
        run_block(rows, p, by_rows);
        return;
    }
    _Alignas(64) real here[BLOCK_MAX * PANEL], start[PANEL] = {0};
    real *c = p->c;
    const real *bias = p->bias;
    const size_t c_row = p->c_row;
    for (size_t i = 0; p->adds && i < rows; i++)
        for (size_t j = 0; j < p->columns; j++) here[i * PANEL + j] = c[i * c_row + j];
    for (size_t j = 0; bias && j < p->columns; j++) start[j] = bias[j];
    p->c = here;
    p->c_row = PANEL;
    p->bias = start;
    p->written.left = 0;
    run_block(rows, p, by_rows);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < p->columns; j++) c[i * c_row + j] = here[i * PANEL + j];
    p->c = c;
    p->c_row = c_row;
    p->bias = bias;
}
