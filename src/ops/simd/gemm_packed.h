/* gemm_packed - y (+)= x W + b, with W packed once for all blocks of rows of x.
 *
 * A panel is two vectors of columns of W, padded with 0: [panels][k][PANEL]. Rows of x, as many as
 * a block has, stay in the first cache while the panels pass by, as many of them as the second
 * cache holds. Every element of y is summed in the same order, however many rows there are.
 *
 * Libraries pack anew in every call, which counts where k is as short as a transformer's:
 * `ssm2d bench linear` compares with oneDNN's, docs/speed.md has what it said. */

enum { PANELS_BYTES = 256 * 1024 }; /* of W, in the second cache at once */

static size_t gemm_packed_size(size_t n, size_t k)
{
    return (n + PANEL - 1) / PANEL * PANEL * steps_of(k);
}

static void gemm_pack(const gemm_pack_args *p, size_t first, size_t end)
{
    for (size_t c = first; c < end; c += PANEL) {
        const real *from = p->weights + c * p->column;
        real *to = (real *)p->packed + c * steps_of(p->k);
        const size_t cols = p->n - c < PANEL ? p->n - c : PANEL;
        if (p->column == 1 && cols == PANEL)
            pack_rows(to, from, p->row, p->k);
        else
            pack_columns(to, from, p->row, p->column, p->k, cols);
    }
}

/* The block of rows i.. of y, columns [first, end), for steps [l, l + steps) of its sums. */
INLINE void packed_chunk(const gemm_packed_args *p, size_t i, size_t rows, size_t first, size_t end,
                         size_t l, size_t steps)
{
    _Alignas(64) real scratch[CHUNK_SCRATCH];
    const size_t later = p->m - i - rows, next = later < rows ? later : rows;
    const real *x = p->x + i * p->x_row;
    block_args b = {.c_row = p->y_row,
                    .k = steps,
                    .adds = p->adds || l > 0,
                    .read = fetch_rows(x + rows * p->x_row, p->x_row, next, p->k)};
    b.a = chunk_of_x(scratch, x, p->x_row, rows, l, steps, p->k, &b.a_row);
    for (size_t c = first; c < end; c += PANEL) {
        const size_t after = end - c > PANEL ? PANEL : 0;
        b.c = p->y + i * p->y_row + c;
        b.columns = p->n - c < PANEL ? p->n - c : PANEL;
        b.panel = (const real *)p->packed + c * steps_of(p->k) + l * PANEL;
        b.bias = p->bias ? p->bias + c : NULL;
        b.written = after ? fetch_rows(b.c + PANEL, p->y_row, rows, PANEL)
                          : fetch_rows(p->y + (i + rows) * p->y_row + first, p->y_row, next, PANEL);
        run_columns(rows, &b, 1);
    }
}

/* Columns [first, end) of y, for all of whose panels there is room in the cache. */
static void packed_columns(const gemm_packed_args *p, size_t first, size_t end)
{
    const size_t steps = steps_of(p->k), most = chunk_steps(steps);
    for (size_t i = 0, rows; i < p->m; i += rows) {
        size_t l = 0;
        rows = block_rows(p->m - i);
        do {
            packed_chunk(p, i, rows, first, end, l, steps - l < most ? steps - l : most);
            l += most;
        } while (l < steps);
    }
}

static void gemm_packed(const gemm_packed_args *p, size_t first, size_t end)
{
    const size_t steps = steps_of(p->k),
                 fit = PANELS_BYTES / sizeof(real) / PANEL / (steps ? steps : 1),
                 width = (fit ? fit : 1) * PANEL;
    for (size_t c = first; c < end; c += width)
        packed_columns(p, c, end - c < width ? end : c + width);
}
