/* gemm_tn - dW (+)= dy^T x and db (+)= the sum of the rows of dy, for a part of dW: sums over very
 * many rows of x and dy.
 *
 * Done for at most TN_DEPTH rows of x and dy at a time, whose part of x is packed first: [panels]
 * [TN_DEPTH][PANEL], padded with 0. dy is read where it is; or, where blocks have few rows, copied
 * TN_COPY columns at a time, so that what a block reads of it is together. */

/* A panel's distance from the next: not a power of two, so that they fall on different sets. */
#define TN_PANEL (steps_of(TN_DEPTH) * PANEL + LINE)

static size_t tn_panels(size_t k) { return (k + PANEL - 1) / PANEL; }

static size_t gemm_tn_scratch_size(size_t cols)
{
    return tn_panels(cols) * TN_PANEL + (TN_COPIES ? steps_of(TN_DEPTH) * TN_COPY : 0);
}

static void gemm_tn_costs(size_t *x, size_t *dy)
{
    *x = TN_COST_X;
    *dy = TN_COST_DY;
}

static void tn_pack(real *to, const real *x, size_t x_row, size_t rows, size_t cols)
{
    for (size_t j = 0; j < cols; j += PANEL, to += TN_PANEL)
        tn_pack_panel(to, x + j, x_row, rows, cols - j < PANEL ? cols - j : PANEL);
}

/* Fetches what the next block adds to: it is in the second cache at best, and a block begins with
 * it. */
INLINE void tn_fetch(const real *c, size_t c_row, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++, c += c_row)
        for (size_t j = 0; j < columns; j += LINE) __builtin_prefetch(c + j, 1, 3);
}

/* Some rows of dW, for the rows of x that are packed. */
static void tn_rows(const gemm_tn_args *p, const gemm_tn_part *part, size_t row, size_t count,
                    block_args *b, const real *packed)
{
    for (size_t j = part->left; j < part->right; j += PANEL, packed += TN_PANEL) {
        b->c = p->dw + row * p->k + j;
        b->columns = part->right - j < PANEL ? part->right - j : PANEL;
        b->panel = packed;
        if (part->right - j > PANEL)
            tn_fetch(b->c + PANEL, p->k, count, PANEL);
        else if (row + count < part->end)
            tn_fetch(p->dw + (row + count) * p->k + part->left, p->k,
                     block_rows(part->end - row - count), PANEL);
        run_columns(count, b, 0);
    }
}

static void gemm_tn(const gemm_tn_args *p, const gemm_tn_part *part, real *scratch)
{
    const size_t wide = part->right - part->left;
    real *packed = scratch, *copy = scratch + tn_panels(wide) * TN_PANEL;
    for (size_t i = 0, rows; i < p->m; i += rows) {
        rows = p->m - i < p->depth ? p->m - i : p->depth;
        const size_t later = p->m + p->after - i - rows, next = later < p->depth ? later : p->depth;
        const int adds = p->adds || i > 0;
        const real *x = p->x + i * p->x_row + part->left, *dy = p->dy + i * p->n;
        if (p->db && part->left == 0)
            tn_bias(p->db + part->first, dy + part->first, p->n, rows, part->end - part->first,
                    adds);
        if (!p->dw) continue;
        block_args b = {.c_row = p->k,
                        .k = steps_of(rows),
                        .adds = adds,
                        .read = fetch_rows(x + rows * p->x_row, p->x_row, next, wide),
                        .written = fetch_rows(dy + rows * p->n + part->first, p->n, next,
                                              part->end - part->first)};
        tn_pack(packed, x, p->x_row, rows, wide);
        for (size_t c = part->first, count; c < part->end; c += count) {
            count = block_rows(part->end - c);
            b.a = dy + c;
            b.a_step = p->n;
            if (TN_COPIES) {
                const size_t at = (c - part->first) % TN_COPY, left = part->end - c;
                if (at == 0) tn_copy(copy, dy + c, p->n, rows, left < TN_COPY ? left : TN_COPY);
                b.a = copy + at;
                b.a_step = TN_COPY;
            }
            tn_rows(p, part, c, count, &b, packed);
        }
    }
}
