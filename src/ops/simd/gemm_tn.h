/* turned - dW += dy^T x and db += the rows of dy, for some rows of dW: a sum over very many rows of
 * x and dy.
 *
 * In blocks of rows that stay in the first-level cache: what is needed of dy is copied together, x
 * is read where it stands. */

enum { TURNED_DEPTH = 128 };

static size_t turned_room(size_t cols) { return TURNED_DEPTH * (cols + STRIP) + cols * STRIP; }

/* The last columns of x, which are no whole strip: padded with 0. */
static void turned_rest(real *dw, size_t row, size_t rest, const real *x, const real *dy,
                        size_t cols, size_t rows, real *room)
{
    real *padded_x = room, *sums = room + TURNED_DEPTH * STRIP;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < STRIP; j++) padded_x[i * STRIP + j] = j < rest ? x[i * row + j] : 0;
    product_strip_2(sums, STRIP, dy, 1, cols, padded_x, STRIP, cols, rows, 0);
    for (size_t c = 0; c < cols; c++)
        for (size_t j = 0; j < rest; j++) dw[c * row + j] += sums[c * STRIP + j];
}

static void turned_product(const gemm_tn_args *p, size_t first, size_t end, real *room)
{
    const size_t cols = end - first;
    real *dy = room, *more = room + TURNED_DEPTH * cols, *dw = p->dw ? p->dw + first * p->k : NULL;
    for (size_t i = 0; i < p->m; i += TURNED_DEPTH) {
        const size_t rows = p->m - i < TURNED_DEPTH ? p->m - i : TURNED_DEPTH;
        const real *x = p->x + i * p->k;
        for (size_t r = 0; r < rows; r++) {
            const real *from = p->dy + (i + r) * p->n + first;
            for (size_t c = 0; c < cols; c++) dy[r * cols + c] = from[c];
            for (size_t c = 0; p->db && c < cols; c++) p->db[first + c] += from[c];
        }
        size_t j = 0;
        for (; p->dw && j + STRIP <= p->k; j += STRIP)
            product_strip_2(dw + j, p->k, dy, 1, cols, x + j, p->k, cols, rows, 1);
        if (p->dw && j < p->k) turned_rest(dw + j, p->k, p->k - j, x + j, dy, cols, rows, more);
    }
}
