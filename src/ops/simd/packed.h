/* packed - y = x W^T + b for few rows x, with W packed once for many runs: oneDNN's sgemm would pack it again each time.
 *
 * A strip of W is two vectors of its rows side by side, turned and padded with 0: [strips][k][2*LANES]. */

enum { STRIP = 2 * LANES, STRIP_DEPTH = 384 }; /* so many numbers of k that a strip stays in the first-level cache */

static size_t packed_room(size_t n, size_t k) { return (n + STRIP - 1) / STRIP * STRIP * k; }

static void pack(real *packed, const real *w, size_t n, size_t k, size_t first, size_t end)
{
    real *to = packed + first * k;
    for (size_t c = first; c < end; c += STRIP)
        for (size_t l = 0; l < k; l++, to += STRIP)
            for (size_t j = 0; j < STRIP; j++) to[j] = c + j < n ? w[(c + j) * k + l] : 0;
}

/* A strip of y, all of its columns. */
INLINE void packed_strip(real *y, size_t row, const real *x, const real *strip, size_t m, size_t k)
{
    for (size_t l = 0; l < k; l += STRIP_DEPTH)
        product_strip_2(y, row, x + l, k, 1, strip + l * STRIP, STRIP, m, k - l < STRIP_DEPTH ? k - l : STRIP_DEPTH, l > 0);
}

/* The last strip when it is wider than what is left of y. */
static void packed_rest(real *y, size_t row, size_t cols, const real *x, const real *strip, size_t m, size_t k)
{
    enum { ROWS = 12 };
    _Alignas(64) real here[ROWS * STRIP];
    for (size_t i = 0; i < m; i += ROWS) {
        const size_t rows = m - i < ROWS ? m - i : ROWS;
        packed_strip(here, STRIP, x + i * k, strip, rows, k);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < cols; j++) y[(i + r) * row + j] = here[r * STRIP + j];
    }
}

static void packed_product(const NAME(packed) *p, size_t first, size_t end)
{
    for (size_t c = first; c < end; c += STRIP) {
        const real *strip = p->weights + c * p->k;
        if (c + STRIP <= p->n)
            packed_strip(p->y + c, p->n, p->x, strip, p->m, p->k);
        else
            packed_rest(p->y + c, p->n, p->n - c, p->x, strip, p->m, p->k);
    }
    for (size_t i = 0; p->bias && i < p->m; i++)
        for (size_t c = first; c < end; c++) p->y[i * p->n + c] += p->bias[c];
}
