/* gemm_tn - dW += dy^T x and db += the sum of the rows of dy, for some rows of dW: sums over very
 * many rows of x and dy.
 *
 * Done for TN_DEPTH rows of x and dy at a time. All tasks read the same x, which is packed for them
 * first, [slabs][panels][TN_DEPTH][PANEL], a panel being padded with 0; of dy each copies its own
 * columns, TN_ROWS at a time. So what a block of dW needs is together and stays in the first-level
 * cache; in place it would fall on a few of its sets. */

enum { TN_DEPTH = 128, TN_ROWS = 12, TN_QUAD = 4 };

typedef real quad
    __attribute__((vector_size(TN_QUAD * sizeof(real)), aligned(sizeof(real)), may_alias));

static size_t tn_blocks(size_t cols) { return (cols + TN_ROWS - 1) / TN_ROWS; }
static size_t tn_panels(size_t k) { return (k + PANEL - 1) / PANEL; }

static size_t gemm_tn_scratch_size(size_t cols)
{
    return TN_DEPTH * tn_blocks(cols) * TN_ROWS + TN_ROWS * PANEL;
}

static size_t gemm_tn_slabs(size_t m) { return (m + TN_DEPTH - 1) / TN_DEPTH; }

static size_t gemm_tn_packed_size(size_t m, size_t k)
{
    return gemm_tn_slabs(m) * tn_panels(k) * TN_DEPTH * PANEL;
}

static void gemm_tn_pack(const gemm_tn_args *p, size_t slab)
{
    const size_t first = slab * TN_DEPTH, rows = p->m - first < TN_DEPTH ? p->m - first : TN_DEPTH;
    real *slab_at = p->packed + slab * tn_panels(p->k) * TN_DEPTH * PANEL;
    for (size_t r = 0; r < rows; r++) {
        const real *x = p->x + (first + r) * p->x_row;
        real *to = slab_at + r * PANEL;
        size_t j = 0;
        for (; j + PANEL <= p->k; j += PANEL, to += TN_DEPTH * PANEL) {
            store(to, load(x + j));
            store(to + LANES, load(x + j + LANES));
        }
        for (size_t d = 0; j < p->k && d < PANEL; d++) to[d] = j + d < p->k ? x[j + d] : 0;
    }
}

/* to[blocks][TN_DEPTH][TN_ROWS] = columns of dy; db += their sums. */
INLINE void copy_columns(real *to, real *db, const real *dy, size_t dy_row, size_t rows,
                         size_t cols)
{
    for (size_t c = 0; c < cols; c += TN_ROWS, to += TN_DEPTH * TN_ROWS) {
        const size_t width = cols - c < TN_ROWS ? cols - c : TN_ROWS;
        quad sum[TN_ROWS / TN_QUAD] = {{0}};
        real rest[TN_ROWS] = {0};
        for (size_t r = 0; r < rows; r++) {
            const real *from = dy + r * dy_row + c;
            real *row = to + r * TN_ROWS;
            __builtin_prefetch(from + TN_DEPTH * dy_row, 0, 2);
            if (width == TN_ROWS)
                for (size_t k = 0; k < TN_ROWS / TN_QUAD; k++) {
                    const quad four = *(const quad *)(const void *)(from + k * TN_QUAD);
                    *(quad *)(void *)(row + k * TN_QUAD) = four;
                    sum[k] += four;
                }
            else
                for (size_t k = 0; k < width; k++) rest[k] += row[k] = from[k];
        }
        for (size_t k = 0; db && k < width; k++)
            db[c + k] += width == TN_ROWS ? sum[k / TN_QUAD][k % TN_QUAD] : rest[k];
    }
}

/* Rows of dW, `width` columns of them: dW += dy^T panel. */
INLINE void tn_panel(real *dw, size_t dw_row, const real *dy, const real *panel, size_t cols,
                     size_t rows, size_t width, real *sums)
{
    for (size_t c = 0; c < cols; c += TN_ROWS, dy += TN_DEPTH * TN_ROWS, dw += TN_ROWS * dw_row) {
        const size_t m = cols - c < TN_ROWS ? cols - c : TN_ROWS;
        if (width == PANEL) {
            product_2(dw, dw_row, dy, 1, TN_ROWS, panel, PANEL, m, rows, 1);
            continue;
        }
        product_2(sums, PANEL, dy, 1, TN_ROWS, panel, PANEL, m, rows, 0);
        for (size_t i = 0; i < m; i++)
            for (size_t d = 0; d < width; d++) dw[i * dw_row + d] += sums[i * PANEL + d];
    }
}

static void gemm_tn(const gemm_tn_args *p, size_t first, size_t end, real *scratch)
{
    const size_t cols = end - first;
    real *dy = scratch, *sums = dy + TN_DEPTH * tn_blocks(cols) * TN_ROWS;
    const real *panel = p->packed;
    for (size_t i = 0; i < p->m; i += TN_DEPTH) {
        const size_t rows = p->m - i < TN_DEPTH ? p->m - i : TN_DEPTH;
        copy_columns(dy, p->db ? p->db + first : NULL, p->dy + i * p->n + first, p->n, rows, cols);
        for (size_t j = 0; p->dw && j < p->k; j += PANEL, panel += TN_DEPTH * PANEL) {
            const size_t width = p->k - j < PANEL ? p->k - j : PANEL;
            tn_panel(p->dw + first * p->k + j, p->k, dy, panel, cols, rows, width, sums);
        }
    }
}
