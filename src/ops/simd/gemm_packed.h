/* gemm_packed - y (+)= x W + b, with W packed once for all blocks of rows of x.
 *
 * A panel is two vectors of columns of W, padded with 0: [panels][k][2*LANES]. Every number of y is
 * summed in the same order, however many rows there are.
 *
 * Libraries pack anew in every call, which counts where k is as short as a transformer's. Measured
 * on one core (Zen 3, AVX2) in gigaflops, oneDNN 2.6 reaching 92 to 95 on large square matrices:
 *
 *     rows x n x k       oneDNN  this
 *     256 x 576 x 192        83    96
 *     256 x 192 x 192        87    97
 *     256 x 192 x 768        84    92
 *     197 x 192 x 192        85    97
 *      65 x 576 x 192        77    90 */

/* PANEL_DEPTH: so many rows of a panel stay in the first-level cache. */
enum { PANEL = 2 * LANES, PANEL_DEPTH = 384 };

static size_t gemm_packed_size(size_t n, size_t k) { return (n + PANEL - 1) / PANEL * PANEL * k; }

static void gemm_pack(const gemm_pack_args *p, size_t first, size_t end)
{
    real *to = p->packed + first * p->k;
    for (size_t c = first; c < end; c += PANEL) {
        const real *from = p->weights + c * p->column;
        const size_t cols = p->n - c < PANEL ? p->n - c : PANEL;
        for (size_t l = 0; l < p->k; l++, to += PANEL, from += p->row)
            if (p->column == 1 && cols == PANEL) {
                store(to, load(from));
                store(to + LANES, load(from + LANES));
            } else {
                for (size_t j = 0; j < PANEL; j++) to[j] = j < cols ? from[j * p->column] : 0;
            }
    }
}

/* m rows of y for a whole panel. */
INLINE void panel_product(real *y, size_t y_row, const real *x, size_t x_row, const real *panel,
                          size_t m, size_t k, int adds)
{
    for (size_t l = 0; l < k; l += PANEL_DEPTH)
        product_2(y, y_row, x + l, x_row, 1, panel + l * PANEL, PANEL, m,
                  k - l < PANEL_DEPTH ? k - l : PANEL_DEPTH, adds || l > 0);
}

/* The last panel when y has fewer columns left: computed beside y, a few rows at a time. */
static void panel_product_part(const gemm_packed_args *p, size_t column)
{
    enum { ROWS = 12 };
    _Alignas(64) real here[ROWS * PANEL];
    const size_t cols = p->n - column;
    for (size_t i = 0; i < p->m; i += ROWS) {
        const size_t rows = p->m - i < ROWS ? p->m - i : ROWS;
        real *y = p->y + i * p->y_row + column;
        for (size_t r = 0; p->adds && r < rows; r++)
            for (size_t j = 0; j < PANEL; j++)
                here[r * PANEL + j] = j < cols ? y[r * p->y_row + j] : 0;
        panel_product(here, PANEL, p->x + i * p->x_row, p->x_row, p->packed + column * p->k, rows,
                      p->k, p->adds);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < cols; j++) y[r * p->y_row + j] = here[r * PANEL + j];
    }
}

static void gemm_packed(const gemm_packed_args *p, size_t first, size_t end)
{
    for (size_t c = first; c < end; c += PANEL) {
        const size_t cols = p->n - c < PANEL ? p->n - c : PANEL;
        if (cols == PANEL)
            panel_product(p->y + c, p->y_row, p->x, p->x_row, p->packed + c * p->k, p->m, p->k,
                          p->adds);
        else
            panel_product_part(p, c);
        for (size_t i = 0; p->bias && i < p->m; i++)
            for (size_t j = 0; j < cols; j++) p->y[i * p->y_row + c + j] += p->bias[c + j];
    }
}
