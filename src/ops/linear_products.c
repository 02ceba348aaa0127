#include "ops/linear_impl.h"

#include "core/arith.h"
#include "ops/simd/simd_ops.h"

/* A task has at least MIN_ROWS and at most MAX_ROWS rows, whole blocks of 12. Fewer than FEW_ROWS
 * rows, as of one image, are not cut at all; tasks get some of the columns then. */
enum { MIN_ROWS = 48, MAX_ROWS = 192, BLOCK = 12, FEW_ROWS = 256, BLOCK_COLS = 48 };

static size_t block_rows(const graph *g, size_t m)
{
    if (m < FEW_ROWS) return m;
    const size_t wanted =
        div_up_size(m, linear_threads(g) * LINEAR_TASKS_PER_THREAD * BLOCK) * BLOCK;
    return min_size(max_size(wanted, MIN_ROWS), MAX_ROWS);
}

static void pack_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const packed_job *j = arg;
    const size_t first = task * j->cols, end = first + j->cols;
    j->gemm->gemm_pack(&j->packing, first, min_size(end, j->packing.n));
}

/* Rows [i, end) of y, columns [first, last), rounded to bfloat16. */
static void narrow_block(const packed_job *j, size_t i, size_t end, size_t first, size_t last,
                         int worker)
{
    const simd_ops *simd = simd_ops_for(j->cpu);
    const size_t n = j->product.n;
    gemm_packed_args p = j->product;
    p.y = j->narrow_scratch + (size_t)worker * LINEAR_NARROW_ROWS * n;
    p.y_row = n;
    p.x += i * p.x_row;
    for (; i < end; i += p.m) {
        p.m = min_size(end - i, LINEAR_NARROW_ROWS);
        j->gemm->gemm_packed(&p, first, last);
        for (size_t r = 0; r < p.m; r++)
            simd->real_to_bfloat16(j->narrow + (i + r) * n + first, p.y + r * n + first,
                                   last - first);
        p.x += p.m * p.x_row;
    }
}

static void product_block(void *arg, size_t task, int worker)
{
    const packed_job *j = arg;
    gemm_packed_args p = j->product;
    const size_t i = task / j->across * j->rows, first = task % j->across * j->cols,
                 end = first + j->cols;
    if (j->pack) pack_block(arg, task, worker);
    if (j->narrow) {
        narrow_block(j, i, min_size(i + j->rows, p.m), first, min_size(end, p.n), worker);
        return;
    }
    p.m = i + j->rows < p.m ? j->rows : p.m - i;
    p.x += i * p.x_row;
    p.y += i * p.y_row;
    j->gemm->gemm_packed(&p, first, min_size(end, p.n));
}

/* Columns of a task, whole panels. */
static size_t block_cols(const gemm_table *gemm)
{
    return max_size(BLOCK_COLS / gemm->panel, 1) * gemm->panel;
}

void linear_pack(const graph *g, packed_job *j)
{
    j->cols = block_cols(j->gemm);
    pool_run(g->context->pool, div_up_size(j->packing.n, j->cols), pack_block, j);
}

void linear_multiply(const graph *g, packed_job *j, int is_packed)
{
    const size_t m = j->product.m, n = j->product.n;
    j->rows = block_rows(g, m);
    if (j->rows < m) { /* every block of rows needs all of the weights */
        if (!is_packed) linear_pack(g, j);
        j->cols = n;
    } else {
        j->cols = block_cols(j->gemm);
        j->pack = !is_packed;
    }
    j->across = div_up_size(n, j->cols);
    pool_run(g->context->pool, div_up_size(m, j->rows) * j->across, product_block, j);
}
