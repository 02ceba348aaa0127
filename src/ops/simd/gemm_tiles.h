/* gemm_tiles - matrix products of bfloat16 factors in tiles of 16 x 16 sums, what gemm_packed.h,
 * gemm_tn.h and gemm_micro.h are for other factors. TILES (gemm_bodies.h) names the header that has
 * the tiles: those of AMX, or their emulation.
 *
 * Factors are packed in tiles, one after the other in memory: of A 16 rows x 16 pairs, of B
 * 16 pairs x 16 columns, padded with 0. A block of 2 x 2 tiles of sums reads two tiles of A and two
 * of B for four products. Sums begin with the bias, with what is added to, or with 0; every 32
 * products are added up before they are added to the sum (tiles_emulated.h). So an element has the
 * same bits whichever block it is in. */

/* TILE: reals in one. SLICE: products that a tile adds up. A block is PANEL x PANEL. */
enum { SIDE = 16, TILE = SIDE * SIDE, SLICE = 2 * SIDE, PANEL = 2 * SIDE, BLOCK_MAX = PANEL };

INLINE size_t tiles_least(size_t a, size_t b) { return a < b ? a : b; }
INLINE size_t slices_of(size_t k) { return (k + SLICE - 1) / SLICE; }

/* ---- packing --------------------------------------------------------------------------------- */

/* to[16 rows][16 pairs] = rows of k contiguous elements; what they do not fill is 0. */
static void tile_of_rows(real *to, const real *from, size_t row, size_t rows, size_t k)
{
    if (rows < SIDE || k < SLICE) __builtin_memset(to, 0, TILE * sizeof *to);
    for (size_t i = 0; i < rows && i < SIDE; i++)
        round_row(to + i * SIDE, from + i * row, tiles_least(k, SLICE));
}

/* to[16 pairs][16 columns] = pairs of elements of k rows; what they do not fill is 0. */
static void tile_of_pairs(real *to, const real *from, size_t row, size_t k, size_t columns)
{
    for (size_t l = 0; l < SLICE; l += 2)
        for (size_t j = 0; j < SIDE; j += LANES, to += LANES) {
            const real *first = from + l * row + j;
            if (l < k && j < columns)
                store(to, pair_part(first, l + 1 < k ? first + row : NULL, columns - j));
            else
                store(to, (vec){0});
        }
}

static void tile_transpose(real *tile)
{
#if defined(__AVX512F__)
    /* Four rounds exchange words that are 1, 2, 4 and 8 rows and columns apart. */
    __m512i row[SIDE];
    for (int i = 0; i < SIDE; i++) row[i] = _mm512_loadu_si512(tile + i * SIDE);
#define ROUND(apart, low, high)                                                                    \
    _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) if (!(i & (apart)))                    \
    {                                                                                              \
        const __m512i a = row[i], b = row[i + (apart)];                                            \
        row[i] = low, row[i + (apart)] = high;                                                     \
    }
    ROUND(1, _mm512_mask_shuffle_epi32(a, 0xaaaa, b, _MM_PERM_CCAA),
          _mm512_mask_shuffle_epi32(b, 0x5555, a, _MM_PERM_DDBB))
    ROUND(2, _mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
    ROUND(4, _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b),
          _mm512_permutex2var_epi64(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b))
    ROUND(8, _mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xee))
#undef ROUND
    for (int i = 0; i < SIDE; i++) _mm512_storeu_si512(tile + i * SIDE, row[i]);
#else
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < i; j++) {
            uint32_t a, b;
            __builtin_memcpy(&a, tile + i * SIDE + j, sizeof a);
            __builtin_memcpy(&b, tile + j * SIDE + i, sizeof b);
            __builtin_memcpy(tile + i * SIDE + j, &b, sizeof b);
            __builtin_memcpy(tile + j * SIDE + i, &a, sizeof a);
        }
#endif
}

/* to[two of rows][slices][TILE] = at most PANEL rows of A, whose rows are a_row and whose columns
 * a_k elements apart, one of them 1. */
static void pack_a(real *to, const real *a, size_t a_row, size_t a_k, size_t rows, size_t k)
{
    for (size_t i = 0; i < rows; i += SIDE)
        for (size_t l = 0; l < k; l += SLICE, to += TILE) {
            const real *from = a + i * a_row + l * a_k;
            if (a_k == 1) {
                tile_of_rows(to, from, a_row, rows - i, k - l);
            } else {
                tile_of_pairs(to, from, a_k, k - l, rows - i);
                tile_transpose(to);
            }
        }
}

/* to[slices][two of columns][TILE] = at most PANEL columns of B, likewise */
static void pack_b(real *to, const real *b, size_t b_k, size_t b_column, size_t columns, size_t k)
{
    const int by_pairs = b_column == 1 || columns == 1;
    for (size_t l = 0; l < k; l += SLICE)
        for (size_t j = 0; j < PANEL; j += SIDE, to += TILE) {
            const real *from = b + l * b_k + j * b_column;
            if (j >= columns) continue; /* of no use then */
            if (by_pairs) {
                tile_of_pairs(to, from, b_k, k - l, columns - j);
            } else {
                tile_of_rows(to, from, b_column, columns - j, k - l);
                tile_transpose(to);
            }
        }
}

/* ---- a block --------------------------------------------------------------------------------- */

/* C (+)= A B + bias, at most PANEL x PANEL; bias: [PANEL], or NULL. */
typedef struct tile_block {
    real *c;
    size_t c_row, rows, columns, slices;
    const real *a, *b, *bias;
    int adds;
} tile_block;

/* Registers: sums of the upper and of the lower rows, A, B. */
#define SUM_UL 0
#define SUM_UR 1
#define SUM_LL 2
#define SUM_LR 3
#define A_U    4
#define A_L    5
#define B_L    6
#define B_R    7

INLINE void whole_tiles(tile_file *t, const tile_block *p, int lower, int right)
{
    const size_t row = p->c_row * sizeof(real), line = SIDE * sizeof(real);
    real *c = p->c, *below = c + SIDE * p->c_row;
    const real *a = p->a, *b = p->b, *a_below = a + p->slices * TILE;
    if (p->adds || p->bias) {
        /* a row of the bias for all rows */
        const real *from = p->adds ? c : p->bias, *from_below = p->adds ? below : p->bias;
        const size_t apart = p->adds ? row : 0;
        tile_load(t, SUM_UL, from, apart);
        if (right) tile_load(t, SUM_UR, from + SIDE, apart);
        if (lower) tile_load(t, SUM_LL, from_below, apart);
        if (lower && right) tile_load(t, SUM_LR, from_below + SIDE, apart);
    } else {
        tile_zero(t, SUM_UL);
        if (right) tile_zero(t, SUM_UR);
        if (lower) tile_zero(t, SUM_LL);
        if (lower && right) tile_zero(t, SUM_LR);
    }
    for (size_t s = 0; s < p->slices; s++, a += TILE, a_below += TILE, b += 2 * TILE) {
        tile_load(t, A_U, a, line);
        tile_load(t, B_L, b, line);
        tile_multiply(t, SUM_UL, A_U, B_L);
        if (right) {
            tile_load(t, B_R, b + TILE, line);
            tile_multiply(t, SUM_UR, A_U, B_R);
        }
        if (lower) {
            tile_load(t, A_L, a_below, line);
            tile_multiply(t, SUM_LL, A_L, B_L);
        }
        if (lower && right) tile_multiply(t, SUM_LR, A_L, B_R);
    }
    tile_store(t, SUM_UL, c, row);
    if (right) tile_store(t, SUM_UR, c + SIDE, row);
    if (lower) tile_store(t, SUM_LL, below, row);
    if (lower && right) tile_store(t, SUM_LR, below + SIDE, row);
}

static void run_tiles(tile_file *t, const tile_block *p)
{
    tile_fence();
    if (p->rows > SIDE && p->columns > SIDE)
        whole_tiles(t, p, 1, 1);
    else if (p->rows > SIDE)
        whole_tiles(t, p, 1, 0);
    else if (p->columns > SIDE)
        whole_tiles(t, p, 0, 1);
    else
        whole_tiles(t, p, 0, 0);
}

/* Tiles that are more than what there is of C are computed beside it. */
static void multiply_tiles(tile_file *t, const tile_block *p)
{
    _Alignas(64) real here[PANEL * PANEL];
    tile_block whole = *p;
    if (p->rows % SIDE == 0 && p->columns % SIDE == 0) {
        run_tiles(t, p);
        return;
    }
    whole.c = here;
    whole.c_row = PANEL;
    for (size_t i = 0; i < PANEL && p->adds; i++)
        for (size_t j = 0; j < PANEL; j++)
            here[i * PANEL + j] = i < p->rows && j < p->columns ? p->c[i * p->c_row + j] : 0;
    run_tiles(t, &whole);
    for (size_t i = 0; i < p->rows; i++)
        __builtin_memcpy(p->c + i * p->c_row, here + i * PANEL, p->columns * sizeof(real));
}

/* ---- y (+)= x W + b -------------------------------------------------------------------------- */

/* Slices of x that are packed at once; of W, what stays in the second cache. */
enum { X_SLICES = 16, W_BYTES = 1 << 20 };

static size_t gemm_packed_size(size_t n, size_t k)
{
    return (n + PANEL - 1) / PANEL * slices_of(k) * 2 * TILE;
}

static void gemm_pack(const gemm_pack_args *p, size_t first, size_t end)
{
    const size_t panel = slices_of(p->k) * 2 * TILE;
    for (size_t c = first; c < end; c += PANEL)
        pack_b((real *)p->packed + c / PANEL * panel, p->weights + c * p->column, p->row, p->column,
               tiles_least(p->n - c, PANEL), p->k);
}

/* The block of rows i.. of y, columns [first, end), for slices [s, s + count) of its sums. */
static void tiles_of_y(tile_file *t, const gemm_packed_args *p, size_t i, size_t first, size_t end,
                       size_t s, size_t count)
{
    _Alignas(64) real a[2 * X_SLICES * TILE];
    _Alignas(64) real bias[PANEL] = {0};
    const size_t panel = slices_of(p->k) * 2 * TILE;
    tile_block b = {.c_row = p->y_row,
                    .rows = tiles_least(p->m - i, PANEL),
                    .slices = count,
                    .a = a,
                    .adds = p->adds || s > 0};
    pack_a(a, p->x + i * p->x_row + s * SLICE, p->x_row, 1, b.rows,
           tiles_least(p->k - s * SLICE, count * SLICE));
    for (size_t c = first; c < end; c += PANEL) {
        b.c = p->y + i * p->y_row + c;
        b.columns = tiles_least(p->n - c, PANEL);
        b.b = (const real *)p->packed + c / PANEL * panel + s * 2 * TILE;
        b.bias = p->bias ? p->bias + c : NULL;
        if (b.bias && b.columns < PANEL) {
            __builtin_memcpy(bias, b.bias, b.columns * sizeof(real));
            b.bias = bias;
        }
        multiply_tiles(t, &b);
    }
}

static void gemm_packed(const gemm_packed_args *p, size_t first, size_t end)
{
    const size_t slices = slices_of(p->k),
                 fit = W_BYTES / sizeof(real) / (2 * TILE) / (slices ? slices : 1),
                 width = (fit ? fit : 1) * PANEL;
    tile_file t;
    tile_start(&t);
    for (size_t c = first; c < end; c += width)
        for (size_t i = 0; i < p->m; i += PANEL) {
            size_t s = 0;
            do {
                tiles_of_y(&t, p, i, c, tiles_least(end, c + width), s,
                           tiles_least(slices - s, X_SLICES));
                s += X_SLICES;
            } while (s < slices);
        }
    tile_end(&t);
}

/* ---- dW (+)= dy^T x -------------------------------------------------------------------------- */

enum { TN_DEPTH = 512, TN_SLICES = TN_DEPTH / SLICE, TN_COST_X = 20, TN_COST_DY = 20 };

static size_t gemm_tn_scratch_size(size_t columns)
{
    return ((columns + PANEL - 1) / PANEL + 1) * TN_SLICES * 2 * TILE;
}

static void gemm_tn_costs(size_t *x, size_t *dy)
{
    *x = TN_COST_X;
    *dy = TN_COST_DY;
}

/* `rows` rows of x and dy, at most TN_DEPTH. */
static void tiles_of_dw(tile_file *t, const gemm_tn_args *p, const gemm_tn_part *part,
                        const real *x, const real *dy, size_t rows, int adds, real *scratch)
{
    const size_t slices = slices_of(rows), panel = slices * 2 * TILE;
    real *a = scratch, *packed = scratch + panel;
    for (size_t j = part->left; j < part->right; j += PANEL)
        pack_b(packed + (j - part->left) / PANEL * panel, x + j, p->x_row, 1,
               tiles_least(part->right - j, PANEL), rows);
    for (size_t i = part->first; i < part->end; i += PANEL) {
        tile_block b = {.c_row = p->k,
                        .rows = tiles_least(part->end - i, PANEL),
                        .slices = slices,
                        .a = a,
                        .b = packed,
                        .adds = adds};
        pack_a(a, dy + i, 1, p->n, b.rows, rows);
        for (size_t j = part->left; j < part->right; j += PANEL, b.b += panel) {
            b.c = p->dw + i * p->k + j;
            b.columns = tiles_least(part->right - j, PANEL);
            multiply_tiles(t, &b);
        }
    }
}

static void gemm_tn(const gemm_tn_args *p, const gemm_tn_part *part, real *scratch)
{
    tile_file t;
    tile_start(&t);
    for (size_t i = 0, rows; i < p->m; i += rows) {
        rows = tiles_least(p->m - i, p->depth);
        const real *x = p->x + i * p->x_row, *dy = p->dy + i * p->n;
        const int adds = p->adds || i > 0;
        if (p->db && part->left == 0)
            tn_bias(p->db + part->first, dy + part->first, p->n, rows, part->end - part->first,
                    adds);
        if (p->dw) tiles_of_dw(&t, p, part, x, dy, rows, adds, scratch);
    }
    tile_end(&t);
}

/* ---- small products, of attention ------------------------------------------------------------ */

/* Slices, and rows of A, that are packed at once. */
enum { SMALL_SLICES = 4, SMALL_ROWS = 3 * PANEL };

/* C[m][n] (+)= A[m][k] B[k][n]: A has contiguous rows (a_k is 1) or columns (a_row is 1), B has
 * contiguous rows. */
static void product(real *c, size_t ldc, const real *a, size_t a_row, size_t a_k, const real *b,
                    size_t ldb, size_t m, size_t n, size_t k, int adds)
{
    enum { PIECE = SMALL_SLICES * 2 * TILE };
    _Alignas(64) real left[SMALL_ROWS / PANEL * PIECE], right[PIECE];
    tile_file t;
    tile_start(&t);
    for (size_t l = 0; l < k; l += SMALL_SLICES * SLICE)
        for (size_t i = 0; i < m; i += SMALL_ROWS) {
            const size_t rows = tiles_least(m - i, SMALL_ROWS),
                         depth = tiles_least(k - l, SMALL_SLICES * SLICE);
            for (size_t r = 0; r < rows; r += PANEL)
                pack_a(left + r / PANEL * PIECE, a + (i + r) * a_row + l * a_k, a_row, a_k,
                       tiles_least(rows - r, PANEL), depth);
            for (size_t j = 0; j < n; j += PANEL) {
                const size_t columns = tiles_least(n - j, PANEL);
                pack_b(right, b + l * ldb + j, ldb, 1, columns, depth);
                for (size_t r = 0; r < rows; r += PANEL)
                    multiply_tiles(&t, &(tile_block){.c = c + (i + r) * ldc + j,
                                                     .c_row = ldc,
                                                     .rows = tiles_least(rows - r, PANEL),
                                                     .columns = columns,
                                                     .slices = slices_of(depth),
                                                     .a = left + r / PANEL * PIECE,
                                                     .b = right,
                                                     .adds = adds || l > 0});
            }
        }
    tile_end(&t);
}
