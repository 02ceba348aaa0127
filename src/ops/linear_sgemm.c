#include "ops/linear_impl.h"

#include "core/arith.h"
#include "core/status.h"
#include "ops/elementwise.h"

#include <stdatomic.h>
#include <string.h>

/* Tasks of a product: enough for 64 threads, unless they become too small. */
enum { TASKS = 64, MIN_ROWS = 96, MAX_ROWS = 192, ROW_UNIT = 48 };

/* Where oneDNN's sgemm was faster than the products here, by the instruction set
 * (bench/results/linear.csv). */
int linear_by_sgemm(const graph *g, int products)
{
    static const int by_cpu[] = {[CPU_BASELINE] = 0,
                                 [CPU_AVX2] = LINEAR_Y | LINEAR_DX | LINEAR_DW,
                                 [CPU_AVX512] = LINEAR_DW};
    return g->sgemm && g->training && !g->gemm && (by_cpu[g->context->cpu] & products);
}

/* ---- the products ---------------------------------------------------------------------------- */

sgemm_job sgemm_job_of_y(const node *nd)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    return (sgemm_job){.product = {.b_transposed = 1,
                                   .m = rows_of(nd->in[0]),
                                   .n = n,
                                   .k = k,
                                   .a = nd->in[0]->data,
                                   .b = nd->in[1]->data,
                                   .c = nd->out->data,
                                   .a_row = nd->in[0]->row_stride,
                                   .b_row = k,
                                   .c_row = n,
                                   .adds = nd->inputs == 3},
                       .bias = nd->inputs == 3 ? nd->in[2]->data : NULL};
}

sgemm_job sgemm_job_of_dx(const node *nd)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    return (sgemm_job){.product = {.m = rows_of(nd->in[0]),
                                   .n = k,
                                   .k = n,
                                   .a = nd->out->grad,
                                   .b = nd->in[1]->data,
                                   .c = nd->in[0]->grad,
                                   .a_row = n,
                                   .b_row = k,
                                   .c_row = nd->in[0]->row_stride,
                                   .adds = nd->adds[0]}};
}

sgemm_args sgemm_part_of_dw(const gemm_tn_args *a, const gemm_tn_part *part)
{
    return (sgemm_args){.a_transposed = 1,
                        .m = part->end - part->first,
                        .n = part->right - part->left,
                        .k = a->m,
                        .a_row = a->n,
                        .b_row = a->x_row,
                        .c_row = a->k,
                        .adds = a->adds};
}

/* ---- running --------------------------------------------------------------------------------- */

void sgemm_or_note(const graph *g, const sgemm_args *p)
{
    /* the flag is all of a graph that its nodes write in a run */
    if (!g->sgemm(p)) atomic_store(&((graph *)g)->out_of_memory, 1);
}

static size_t rows_of_task(size_t m)
{
    const size_t wanted = div_up_size(m, TASKS * ROW_UNIT) * ROW_UNIT;
    return min_size(max_size(wanted, MIN_ROWS), MAX_ROWS);
}

static void run_task(void *arg, size_t task, int worker)
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
    sgemm_or_note(j->g, &p);
}

void sgemm_job_run(const graph *g, sgemm_job *j)
{
    j->g = g;
    j->rows = rows_of_task(j->product.m);
    pool_run(g->context->pool, div_up_size(j->product.m, j->rows), run_task, j);
}

/* ---- trying ---------------------------------------------------------------------------------- */

/* Elements that a product reaches over in its largest matrix. */
static size_t extent(const sgemm_args *p)
{
    const size_t a = (p->a_transposed ? p->k : p->m) * p->a_row,
                 b = (p->b_transposed ? p->n : p->k) * p->b_row, c = p->m * p->c_row;
    return max_size(max_size(a, b), c);
}

static int try_one(const graph *g, sgemm_args p, real *zeros)
{
    p.a = p.b = p.c = zeros;
    return g->sgemm(&p);
}

/* All tasks but the last have the same shape. */
static int try_rows(const graph *g, sgemm_args p, real *zeros)
{
    const size_t m = p.m, rows = rows_of_task(m);
    p.m = min_size(rows, m);
    if (!try_one(g, p, zeros)) return 0;
    p.m = m - (div_up_size(m, rows) - 1) * rows;
    return try_one(g, p, zeros);
}

/* The first and the last range of rows, in which dW is added to and set, and the parts in the
 * corners of dW: others have their shapes. */
static int try_weights(const graph *g, const node *nd, real *zeros)
{
    const weights_grid *w = nd->object;
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    for (size_t i = 0; i < 8; i++) {
        const size_t range = i & 1 ? w->ranges - 1 : 0,
                     row = i & 2 ? (w->parts / w->across - 1) * w->rows : 0,
                     left = i & 4 ? (w->across - 1) * w->cols : 0;
        const gemm_tn_part part = {row, min_size(row + w->rows, n), left,
                                   min_size(left + w->cols, k)};
        const gemm_tn_args a = {.m = m * (range + 1) / w->ranges - m * range / w->ranges,
                                .n = n,
                                .k = k,
                                .x_row = nd->in[0]->row_stride,
                                .adds = !range};
        if (!try_one(g, sgemm_part_of_dw(&a, &part), zeros)) return 0;
    }
    return 1;
}

static int try_products(const graph *g, const node *nd, real *zeros)
{
    if (linear_by_sgemm(g, LINEAR_Y) && !try_rows(g, sgemm_job_of_y(nd).product, zeros)) return 0;
    if (linear_by_sgemm(g, LINEAR_DX) && nd->in[0]->needs_grad
        && !try_rows(g, sgemm_job_of_dx(nd).product, zeros))
        return 0;
    return !linear_by_sgemm(g, LINEAR_DW) || !nd->in[1]->needs_grad || try_weights(g, nd, zeros);
}

/* The graph's own memory is still zero; where W or an input is larger, other memory is used. */
ssm2d_status linear_warm_up(graph *g, const node *nd, ssm2d_error *error)
{
    if (!linear_by_sgemm(g, LINEAR_Y | LINEAR_DX | LINEAR_DW)) return SSM2D_OK;
    const sgemm_args y = sgemm_job_of_y(nd).product, dx = sgemm_job_of_dx(nd).product;
    const size_t bytes = max_size(extent(&y), extent(&dx)) * sizeof(real);
    real *own = bytes > g->bytes ? mem_alloc(g->context, bytes) : NULL,
         *zeros = bytes > g->bytes ? own : (real *)(void *)g->memory;
    const int done = zeros && try_products(g, nd, zeros);
    mem_free(g->context, own);
    if (done) return SSM2D_OK;
    return fail_memory(error, "matrix products of %zu rows with weights of %zu x %zu", y.m, y.n,
                       y.k);
}
