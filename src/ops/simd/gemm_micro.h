/* gemm_micro - small matrix products whose operands are in the first two caches.
 *
 * C[m][n] (+)= A[m][k] B[k][n]: A is read element by element at any strides, B and C by vectors, n
 * being whole vectors. A block of rows x vectors of C stays in registers; products three vectors
 * wide are there for odd widths. Factors that are bfloat16 are packed in pairs first. */

#ifdef MANY_REGISTERS
enum { ROWS_1 = 12, ROWS_2 = 12, ROWS_3 = 8 };
#else
enum { ROWS_1 = 8, ROWS_2 = 6, ROWS_3 = 4 };
#endif

INLINE void product_block(int rows, int vectors, real *c, size_t ldc, const real *a, size_t a_row,
                          size_t a_k, const real *b, size_t ldb, size_t k, int adds)
{
    vec acc[12][3];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) acc[i][j] = (vec){0};
    const size_t three = 3 * a_row; /* three rows have their addresses in common */
    for (size_t l = 0; l < k; l++) {
        vec right[3];
        for (int j = 0; j < vectors; j++) right[j] = load(b + j * LANES);
        for (int i = 0; i < rows; i++) {
            const real *left = &a[(size_t)(i / 3) * three + (size_t)(i % 3) * a_row];
            for (int j = 0; j < vectors; j++) acc[i][j] = accumulate(left, right[j], acc[i][j]);
        }
        a += a_k;
        b += ldb;
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) {
            real *at = c + (size_t)i * ldc + j * LANES;
            store(at, adds ? load(at) + acc[i][j] : acc[i][j]);
        }
}

/* Blocks of the most rows there are registers for, then of 8, 4, 2 and 1; 16 rows are twice 8. */
#define BLOCKS(rows, vectors)                                                                      \
    for (; m >= rows && (rows != 12 || m != 16); m -= rows, c += rows * ldc, a += rows * a_row)    \
        product_block(rows, vectors, c, ldc, a, a_row, a_k, b, ldb, k, adds);

/* product_1, product_2, product_3: m rows of a C that is so many vectors wide. */
#define PRODUCT(vectors, block)                                                                    \
    static void product_##vectors(real *c, size_t ldc, const real *a, size_t a_row, size_t a_k,    \
                                  const real *b, size_t ldb, size_t m, size_t k, int adds)         \
    {                                                                                              \
        BLOCKS(block, vectors)                                                                     \
        if (block > 8) BLOCKS(8, vectors)                                                          \
        BLOCKS(4, vectors)                                                                         \
        BLOCKS(2, vectors)                                                                         \
        BLOCKS(1, vectors)                                                                         \
    }

PRODUCT(1, ROWS_1)
PRODUCT(2, ROWS_2)
PRODUCT(3, ROWS_3)

/* k: steps of `accumulate` */
static void product_steps(real *c, size_t ldc, const real *a, size_t a_row, size_t a_k,
                          const real *b, size_t ldb, size_t m, size_t n, size_t k, int adds)
{
    size_t j = 0;
    if (n == LANES) {
        product_1(c, ldc, a, a_row, a_k, b, ldb, m, k, adds);
        return;
    }
    for (; j + 2 * LANES <= n && n - j != 3 * LANES; j += 2 * LANES)
        product_2(c + j, ldc, a, a_row, a_k, b + j, ldb, m, k, adds);
    if (j < n) product_3(c + j, ldc, a, a_row, a_k, b + j, ldb, m, k, adds);
}

#ifndef PAIRS

static void product(real *c, size_t ldc, const real *a, size_t a_row, size_t a_k, const real *b,
                    size_t ldb, size_t m, size_t n, size_t k, int adds)
{
    product_steps(c, ldc, a, a_row, a_k, b, ldb, m, n, k, adds);
}

#else

/* Rows of A, steps, and columns of B that are packed at once. */
enum { MICRO_ROWS = 96, MICRO_STEPS = 32, MICRO_COLUMNS = 4 * LANES };

/* Rows of A, whose rows or whose columns are contiguous, in pairs; *row and *step are how far apart
 * these are then. */
static void pack_left(real *to, const real *a, size_t a_row, size_t a_k, size_t m, size_t k,
                      size_t *row, size_t *step)
{
    if (a_k == 1) {
        for (size_t i = 0; i < m; i++) round_row(to + i * MICRO_STEPS, a + i * a_row, k);
        *row = MICRO_STEPS;
        *step = 1;
        return;
    }
    for (size_t l = 0; l < k; l += 2, to += MICRO_ROWS)
        for (size_t i = 0; i < m; i += LANES) {
            const real *first = a + l * a_k + i, *second = l + 1 < k ? first + a_k : NULL;
            store(to + i, pair_part(first, second, m - i));
        }
    *row = 1;
    *step = MICRO_ROWS;
}

/* Columns of B, whole vectors of them. */
static void pack_right(real *to, const real *b, size_t ldb, size_t n, size_t k)
{
    for (size_t l = 0; l < k; l += 2, to += MICRO_COLUMNS)
        for (size_t j = 0; j < n; j += LANES) {
            const real *first = b + l * ldb + j, *second = l + 1 < k ? first + ldb : NULL;
            store(to + j, pair_part(first, second, LANES));
        }
}

/* A is [m][k] with contiguous rows (a_k is 1) or columns (a_row is 1). */
static void product(real *c, size_t ldc, const real *a, size_t a_row, size_t a_k, const real *b,
                    size_t ldb, size_t m, size_t n, size_t k, int adds)
{
    _Alignas(64) real left[MICRO_ROWS * MICRO_STEPS], right[MICRO_STEPS * MICRO_COLUMNS];
    size_t row, step;
    for (size_t l = 0; l < k; l += 2 * MICRO_STEPS) {
        const size_t depth = k - l < 2 * MICRO_STEPS ? k - l : 2 * MICRO_STEPS;
        for (size_t i = 0; i < m; i += MICRO_ROWS) {
            const size_t rows = m - i < MICRO_ROWS ? m - i : MICRO_ROWS;
            pack_left(left, a + i * a_row + l * a_k, a_row, a_k, rows, depth, &row, &step);
            for (size_t j = 0; j < n; j += MICRO_COLUMNS) {
                const size_t columns = n - j < MICRO_COLUMNS ? n - j : MICRO_COLUMNS;
                pack_right(right, b + l * ldb + j, ldb, columns, depth);
                product_steps(c + i * ldc + j, ldc, left, row, step, right, MICRO_COLUMNS, rows,
                              columns, steps_of(depth), adds || l > 0);
            }
        }
    }
}

#endif
