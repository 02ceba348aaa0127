/* gemm_tn - dW += dy^T x and db += the sum of the rows of dy, for some rows of dW: sums over very
 * many rows of x and dy.
 *
 * Done for TN_DEPTH rows of x and dy at a time, which stay in the first-level cache: the columns of
 * dy in question are copied together, x is read in place. */

enum { TN_DEPTH = 128 };

static size_t gemm_tn_scratch_size(size_t cols) { return TN_DEPTH * (cols + PANEL) + cols * PANEL; }

/* The last columns of x, fewer than a panel: copied and padded with 0. */
static void tn_rest(const gemm_tn_args *p, real *dw, size_t rest, const real *x, const real *dy,
                    size_t cols, size_t rows, real *scratch)
{
    real *padded_x = scratch, *sums = scratch + TN_DEPTH * PANEL;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < PANEL; j++)
            padded_x[i * PANEL + j] = j < rest ? x[i * p->x_row + j] : 0;
    product_2(sums, PANEL, dy, 1, cols, padded_x, PANEL, cols, rows, 0);
    for (size_t c = 0; c < cols; c++)
        for (size_t j = 0; j < rest; j++) dw[c * p->k + j] += sums[c * PANEL + j];
}

static void gemm_tn(const gemm_tn_args *p, size_t first, size_t end, real *scratch)
{
    const size_t cols = end - first;
    real *dy = scratch, *more = scratch + TN_DEPTH * cols;
    real *dw = p->dw ? p->dw + first * p->k : NULL;
    for (size_t i = 0; i < p->m; i += TN_DEPTH) {
        const size_t rows = p->m - i < TN_DEPTH ? p->m - i : TN_DEPTH;
        const real *x = p->x + i * p->x_row;
        for (size_t r = 0; r < rows; r++) {
            const real *from = p->dy + (i + r) * p->n + first;
            for (size_t c = 0; c < cols; c++) dy[r * cols + c] = from[c];
            for (size_t c = 0; p->db && c < cols; c++) p->db[first + c] += from[c];
        }
        if (!dw) continue;
        size_t j = 0;
        for (; j + PANEL <= p->k; j += PANEL)
            product_2(dw + j, p->k, dy, 1, cols, x + j, p->x_row, cols, rows, 1);
        if (j < p->k) tn_rest(p, dw + j, p->k - j, x + j, dy, cols, rows, more);
    }
}
