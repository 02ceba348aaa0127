/* packed - y = x W + b, with W packed: what oneDNN's sgemm does anew for every block of rows is
 * done once for all of them here, where the sums are as short as a transformer's. Measured on one
 * core (Zen 3, AVX2), gigaflops, oneDNN 2.6 / this, while oneDNN's peak, on large square matrices,
 * was 92 to 95:
 *
 *     rows x n x k     256 x 576 x 192     256 x 192 x 192     256 x 192 x 768     197 x 192 x 192     65 x 576 x 192
 *                        83 / 96             87 / 97             84 / 92             85 / 97             77 / 90
 *
 * A strip is two vectors of columns of W, padded with 0: [strips][k][2*LANES]. Every number of y is
 * summed in the same order, however many rows there are. */

/* so many numbers of k that a strip stays in the first-level cache */
enum { STRIP = 2 * LANES, STRIP_DEPTH = 384 };

static size_t packed_room(size_t n, size_t k) { return (n + STRIP - 1) / STRIP * STRIP * k; }

static void pack(const gemm_pack_args *p, size_t first, size_t end)
{
    real *to = p->packed + first * p->k;
    for (size_t c = first; c < end; c += STRIP) {
        const real *from = p->weights + c * p->column;
        const size_t cols = p->n - c < STRIP ? p->n - c : STRIP;
        for (size_t l = 0; l < p->k; l++, to += STRIP, from += p->row)
            if (p->column == 1 && cols == STRIP) {
                store(to, load(from));
                store(to + LANES, load(from + LANES));
            } else {
                for (size_t j = 0; j < STRIP; j++) to[j] = j < cols ? from[j * p->column] : 0;
            }
    }
}

/* A strip of y, all of its columns. */
INLINE void packed_strip(real *y, size_t row, const real *x, const real *strip, size_t m, size_t k,
                         int adds)
{
    for (size_t l = 0; l < k; l += STRIP_DEPTH)
        product_strip_2(y, row, x + l, k, 1, strip + l * STRIP, STRIP, m,
                        k - l < STRIP_DEPTH ? k - l : STRIP_DEPTH, adds || l > 0);
}

/* The last strip when it is wider than what is left of y. */
static void packed_rest(real *y, size_t row, size_t cols, const real *x, const real *strip,
                        size_t m, size_t k, int adds)
{
    enum { ROWS = 12 };
    _Alignas(64) real here[ROWS * STRIP];
    for (size_t i = 0; i < m; i += ROWS) {
        const size_t rows = m - i < ROWS ? m - i : ROWS;
        for (size_t r = 0; adds && r < rows; r++)
            for (size_t j = 0; j < STRIP; j++)
                here[r * STRIP + j] = j < cols ? y[(i + r) * row + j] : 0;
        packed_strip(here, STRIP, x + i * k, strip, rows, k, adds);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < cols; j++) y[(i + r) * row + j] = here[r * STRIP + j];
    }
}

static void packed_product(const gemm_packed_args *p, size_t first, size_t end)
{
    for (size_t c = first; c < end; c += STRIP) {
        const real *strip = p->packed + c * p->k;
        const size_t cols = p->n - c < STRIP ? p->n - c : STRIP;
        if (cols == STRIP)
            packed_strip(p->y + c, p->n, p->x, strip, p->m, p->k, p->adds);
        else
            packed_rest(p->y + c, p->n, cols, p->x, strip, p->m, p->k, p->adds);
        for (size_t i = 0; p->bias && i < p->m; i++)
            for (size_t j = 0; j < cols; j++) p->y[i * p->n + c + j] += p->bias[c + j];
    }
}
