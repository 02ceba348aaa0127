/* gemm_micro - small matrix products whose operands are in the first two caches.
 *
 * C[m][n] (+)= A[m][k] B[k][n]: A is read element by element at any strides, B and C by vectors, n
 * being whole vectors. A block of rows x vectors of C stays in registers; products three vectors
 * wide are there for odd widths. */

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
            const real left = a[(size_t)(i / 3) * three + (size_t)(i % 3) * a_row];
            for (int j = 0; j < vectors; j++) acc[i][j] = mul_add(all(left), right[j], acc[i][j]);
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

static void product(real *c, size_t ldc, const real *a, size_t a_row, size_t a_k, const real *b,
                    size_t ldb, size_t m, size_t n, size_t k, int adds)
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
