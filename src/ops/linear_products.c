#include "ops/linear_products.h"

#include "core/arith.h"

#include <string.h>

/* A task has at least MIN_ROWS and at most MAX_ROWS rows, whole blocks of 12. Fewer than FEW_ROWS
 * rows, as of one image, are not cut at all; tasks get some of the columns then. */
enum { MIN_ROWS = 48, MAX_ROWS = 192, BLOCK = 12, FEW_ROWS = 256, BLOCK_COLS = 48 };

/* ---- by packed weights ----------------------------------------------------------------------- */

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
    j->simd->gemm_pack(&j->packing, first, min_size(end, j->packing.n));
}

static void product_block(void *arg, size_t task, int worker)
{
    const packed_job *j = arg;
    gemm_packed_args p = j->product;
    const size_t i = task / j->across * j->rows, first = task % j->across * j->cols,
                 end = first + j->cols;
    if (j->pack) pack_block(arg, task, worker);
    p.m = i + j->rows < p.m ? j->rows : p.m - i;
    p.x += i * p.x_row;
    p.y += i * p.y_row;
    j->simd->gemm_packed(&p, first, min_size(end, p.n));
}

/* Columns of a task, whole panels. */
static size_t block_cols(const simd_ops *simd)
{
    return max_size(BLOCK_COLS / simd->panel, 1) * simd->panel;
}

void linear_pack(const graph *g, packed_job *j)
{
    j->cols = block_cols(j->simd);
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
        j->cols = block_cols(j->simd);
        j->pack = !is_packed;
    }
    j->across = div_up_size(n, j->cols);
    pool_run(g->context->pool, div_up_size(m, j->rows) * j->across, product_block, j);
}

/* ---- by graph.sgemm -------------------------------------------------------------------------- */

/* Tasks of a product: enough for 64 threads, unless they become too small. */
enum { SGEMM_TASKS = 64, SGEMM_MIN_ROWS = 96 };

/* Where oneDNN's sgemm was faster than the products here, by the instruction set
 * (bench/results/linear.csv). */
int linear_by_sgemm(const graph *g, linear_product product)
{
    static const int by_cpu[] = {[CPU_BASELINE] = 0,
                                 [CPU_AVX2] = LINEAR_Y | LINEAR_DX | LINEAR_DW,
                                 [CPU_AVX512] = LINEAR_DW};
    return g->sgemm && g->training && (by_cpu[g->context->cpu] & product);
}

static size_t sgemm_rows(size_t m)
{
    const size_t wanted = div_up_size(m, SGEMM_TASKS * MIN_ROWS) * MIN_ROWS;
    return min_size(max_size(wanted, SGEMM_MIN_ROWS), MAX_ROWS);
}

/* The same without memory of its own, when there is too little for the library. */
static void multiply_slowly(const sgemm_args *p)
{
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            real sum = p->adds ? p->c[i * p->c_row + j] : 0;
            for (size_t l = 0; l < p->k; l++)
                sum += (p->a_transposed ? p->a[l * p->a_row + i] : p->a[i * p->a_row + l])
                       * (p->b_transposed ? p->b[j * p->b_row + l] : p->b[l * p->b_row + j]);
            p->c[i * p->c_row + j] = sum;
        }
}

static void sgemm_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const sgemm_job *j = arg;
    sgemm_args p = j->product;
    const size_t first = task * j->rows;
    p.m = min_size(j->rows, p.m - first);
    p.a += first * p.a_row;
    p.c += first * p.c_row;
    for (size_t i = 0; j->bias && i < p.m; i++)
        memcpy(p.c + i * p.c_row, j->bias, p.n * sizeof(real));
    if (j->bias) p.adds = 1;
    if (!j->sgemm(&p)) multiply_slowly(&p);
}

void linear_multiply_sgemm(const graph *g, sgemm_job *j)
{
    j->sgemm = g->sgemm;
    j->rows = sgemm_rows(j->product.m);
    pool_run(g->context->pool, div_up_size(j->product.m, j->rows), sgemm_block, j);
}
