#include "ops/linear_impl.h"

#include "core/arith.h"
#include "ops/elementwise.h"

/* Rows of x and dy, which are read twice, stay in the second cache; sums of ranges take some
 * memory. */
enum { SLAB_NUMBERS = 131072, SLAB_MIN = 64, RANGE_ROWS = 512, RANGES = 4 };
enum { RANGE_NUMBERS = 3 << 19 };
/* Parts for graph.sgemm: fewer than tasks of its other products, as each reads x or dy anew. */
enum { SGEMM_PARTS = 32, SGEMM_MIN_PART = 48 };

static void cut_in_parts(weights_grid *w, const gemm_table *gemm, size_t n, size_t k, size_t down,
                         size_t across)
{
    w->rows = div_up_size(div_up_size(n, down), gemm->tn_rows) * gemm->tn_rows;
    w->cols = div_up_size(div_up_size(k, across), gemm->panel) * gemm->panel;
    w->across = div_up_size(k, w->cols);
    w->parts = div_up_size(n, w->rows) * w->across;
}

/* The parts that take all threads the shortest time. Threads do not begin together: in the mean the
 * last one is done a fraction of a part later. */
static void choose_parts(weights_grid *w, const graph *g, size_t n, size_t k)
{
    const gemm_table *gemm = linear_gemm(g);
    const size_t threads = linear_threads(g), min = div_up_size(k, LINEAR_PART_COLS),
                 max = max_size(threads * LINEAR_TASKS_PER_THREAD, min);
    const double late = threads > 1 ? 0.1 : 0;
    size_t x, dy;
    weights_grid try = *w;
    double shortest = 0;
    gemm->gemm_tn_costs(&x, &dy);
    for (size_t across = min; across <= max; across++)
        for (size_t down = 1; down == 1 || down * across <= max; down++) {
            cut_in_parts(&try, gemm, n, k, down, across);
            const double time = ((double)div_up_size(w->ranges * try.parts, threads) + late)
                                * (double)((try.rows + x) * (try.cols + dy) - x * dy);
            if (w->parts && time >= shortest) continue;
            *w = try;
            shortest = time;
        }
}

/* The same for graph.sgemm: halves of the longer side until there are enough. */
static void choose_sgemm_parts(weights_grid *w, size_t n, size_t k)
{
    size_t down = 1, across = 1;
    for (;;) {
        w->rows = div_up_size(div_up_size(n, down), 8) * 8;
        w->cols = div_up_size(div_up_size(k, across), 8) * 8;
        w->across = div_up_size(k, w->cols);
        w->parts = div_up_size(n, w->rows) * w->across;
        if (w->ranges * w->parts >= SGEMM_PARTS || max_size(w->rows, w->cols) <= SGEMM_MIN_PART)
            return;
        if (w->rows >= w->cols)
            down *= 2;
        else
            across *= 2;
    }
}

weights_grid linear_cut_weights(const graph *g, const node *nd)
{
    const gemm_table *gemm = linear_gemm(g);
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out),
                 slab = SLAB_NUMBERS / (n + k) / 8 * 8;
    weights_grid w = {
        .ranges = max_size(min_size(min_size(m / RANGE_ROWS, RANGE_NUMBERS / (n * k)), RANGES), 1),
        .depth = min_size(max_size(slab, SLAB_MIN), gemm->tn_depth)};
    if (linear_by_sgemm(g, LINEAR_DW))
        choose_sgemm_parts(&w, n, k);
    else
        choose_parts(&w, g, n, k);
    return w;
}
