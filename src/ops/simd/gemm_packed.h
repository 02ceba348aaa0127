/* gemm_packed - y (+)= x W + b, with W packed once for all blocks of rows of x.
 *
 * A panel is two vectors of columns of W, padded with 0: [panels][k][PANEL]. Rows of x, as many as
 * a block has, stay in the first cache while the panels pass by, as many of them as the second
 * cache holds. Every element of y is summed in the same order, however many rows there are.
 *
 * Libraries pack anew in every call, which counts where k is as short as a transformer's:
 * `ssm2d bench linear` compares with oneDNN's, docs/speed.md has what it said. */

enum { PANELS_BYTES = 256 * 1024 }; /* of W, in the second cache at once */

static size_t gemm_packed_size(size_t n, size_t k) { return (n + PANEL - 1) / PANEL * PANEL * k; }

/* A panel of W whose rows are contiguous. */
INLINE void pack_rows(real *to, const real *from, size_t row, size_t k)
{
    for (size_t l = 0; l < k; l++, to += PANEL, from += row) {
        store(to, load(from));
        store(to + LANES, load(from + LANES));
    }
}

/* A panel of any W, a few of its rows at a time, which then are in the cache for all columns. */
static void pack_columns(real *to, const real *from, size_t row, size_t column, size_t k,
                         size_t cols)
{
    enum { ROWS = LINE };
    for (size_t l = 0; l < k; l += ROWS, to += ROWS * PANEL) {
        const size_t rows = k - l < ROWS ? k - l : ROWS;
        for (size_t j = 0; j < PANEL; j++) {
            const real *at = from + l * row + j * column;
            if (j < cols && row == 1 && rows == ROWS)
                for (size_t r = 0; r < ROWS; r++) to[r * PANEL + j] = at[r];
            else
                for (size_t r = 0; r < rows; r++) to[r * PANEL + j] = j < cols ? at[r * row] : 0;
        }
    }
}

static void gemm_pack(const gemm_pack_args *p, size_t first, size_t end)
{
    for (size_t c = first; c < end; c += PANEL) {
        const real *from = p->weights + c * p->column;
        const size_t cols = p->n - c < PANEL ? p->n - c : PANEL;
        if (p->column == 1 && cols == PANEL)
            pack_rows(p->packed + c * p->k, from, p->row, p->k);
        else
            pack_columns(p->packed + c * p->k, from, p->row, p->column, p->k, cols);
    }
}

/* Columns [first, end) of y, for all of whose panels there is room in the cache. */
static void packed_columns(const gemm_packed_args *p, size_t first, size_t end)
{
    for (size_t i = 0, rows; i < p->m; i += rows) {
        rows = block_rows(p->m - i);
        const real *x = p->x + i * p->x_row;
        const size_t later = p->m - i - rows, next = later < rows ? later : rows;
        block_args b = {.a = x,
                        .a_row = p->x_row,
                        .c_row = p->y_row,
                        .k = p->k,
                        .adds = p->adds,
                        .read = fetch_rows(x + rows * p->x_row, p->x_row, next, p->k)};
        for (size_t c = first; c < end; c += PANEL) {
            const size_t after = end - c > PANEL ? PANEL : 0;
            b.c = p->y + i * p->y_row + c;
            b.columns = p->n - c < PANEL ? p->n - c : PANEL;
            b.panel = p->packed + c * p->k;
            b.bias = p->bias ? p->bias + c : NULL;
            b.written =
                after ? fetch_rows(b.c + PANEL, p->y_row, rows, PANEL)
                      : fetch_rows(p->y + (i + rows) * p->y_row + first, p->y_row, next, PANEL);
            run_columns(rows, &b, 1);
        }
    }
}

static void gemm_packed(const gemm_packed_args *p, size_t first, size_t end)
{
    const size_t fit = PANELS_BYTES / sizeof(real) / PANEL / (p->k ? p->k : 1),
                 width = (fit ? fit : 1) * PANEL;
    for (size_t c = first; c < end; c += width)
        packed_columns(p, c, end - c < width ? end : c + width);
}
