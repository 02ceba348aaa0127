/* linear - y = x W^T + b.  x: [m][k], W: [n][k], b: [n], y: [m][n].
 *
 * W is packed once for a run (simd/gemm_packed.h), for y and again for dx = dy W; for dW = dy^T x
 * each task packs its part of x (simd/gemm_tn.h). Tasks are blocks of rows of y and dx, and parts
 * of dW. How many there are depends on the number of threads, but not how a number is summed. */
#include "core/arith.h"
#include "core/status.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

/* A task has at least MIN_ROWS and at most MAX_ROWS rows, whole blocks of 12. Fewer than FEW_ROWS
 * rows, as of one image, are not cut at all; tasks get some of the columns then. */
enum { MIN_ROWS = 48, MAX_ROWS = 192, BLOCK = 12, FEW_ROWS = 256, BLOCK_COLS = 48 };
enum { TASKS_PER_THREAD = 4 };
/* Columns of x that are packed at once for dW stay in the second cache. */
enum { MAX_PART_COLS = 256 };

static size_t threads_of(const graph *g) { return (size_t)pool_threads(g->context->pool); }

static size_t block_rows(const graph *g, size_t m)
{
    if (m < FEW_ROWS) return m;
    const size_t wanted = div_up_size(m, threads_of(g) * TASKS_PER_THREAD * BLOCK) * BLOCK;
    return min_size(max_size(wanted, MIN_ROWS), MAX_ROWS);
}

/* ---- packed products ------------------------------------------------------------------------- */

typedef struct job {
    const simd_ops *simd;
    gemm_packed_args product;
    gemm_pack_args packing;
    size_t rows, cols, across; /* of a task; tasks side by side */
    int pack;                  /* whether a task has to pack its columns first */
} job;

static const simd_ops *simd_of(const graph *g) { return simd_ops_for(g->context->cpu); }

static void pack_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const size_t first = task * j->cols, end = first + j->cols;
    j->simd->gemm_pack(&j->packing, first, min_size(end, j->packing.n));
}

static void product_block(void *arg, size_t task, int worker)
{
    const job *j = arg;
    gemm_packed_args p = j->product;
    const size_t i = task / j->across * j->rows, first = task % j->across * j->cols,
                 end = first + j->cols;
    if (j->pack) pack_block(arg, task, worker);
    p.m = i + j->rows < p.m ? j->rows : p.m - i;
    p.x += i * p.x_row;
    p.y += i * p.y_row;
    j->simd->gemm_packed(&p, first, min_size(end, p.n));
}

/* is_packed: the weights have been packed before. */
static void multiply(const graph *g, job *j, int is_packed)
{
    const size_t m = j->product.m, n = j->product.n, panel = j->simd->panel;
    j->rows = block_rows(g, m);
    j->cols = BLOCK_COLS > panel ? BLOCK_COLS / panel * panel : panel;
    j->across = div_up_size(n, j->cols);
    if (j->rows < m) { /* every block of rows needs all of the weights */
        if (!is_packed) pool_run(g->context->pool, j->across, pack_block, j);
        j->cols = n;
        j->across = 1;
    } else {
        j->pack = !is_packed;
    }
    pool_run(g->context->pool, div_up_size(m, j->rows) * j->across, product_block, j);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Inference on few rows keeps W packed; graph.step tells when W has changed. */
typedef struct kept {
    uint64_t packed; /* graph.step + 1 for which the weights were packed, 0 before */
    _Alignas(64) real weights[];
} kept;

static int keeps(const graph *g, const node *nd)
{
    return !g->training && rows_of(nd->in[0]) < FEW_ROWS && nd->in[1]->role == ROLE_PARAM;
}

static ssm2d_status prepare(graph *g, node *nd, ssm2d_error *error)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (!keeps(g, nd)) return SSM2D_OK;
    nd->object =
        mem_alloc(g->context, sizeof(kept) + simd_of(g)->gemm_packed_size(n, k) * sizeof(real));
    return nd->object
               ? SSM2D_OK
               : fail(error, SSM2D_ERROR_MEMORY, "no memory for packed weights of %zu x %zu", n, k);
}

static void destroy(graph *g, node *nd) { mem_free(g->context, nd->object); }

/* The parts of dW: rows x cols each, across of them side by side. */
typedef struct part_grid {
    size_t rows, cols, across, count;
} part_grid;

static part_grid cut_in(const simd_ops *simd, size_t n, size_t k, size_t down, size_t across)
{
    part_grid p = {.rows = div_up_size(div_up_size(n, down), simd->tn_rows) * simd->tn_rows,
                   .cols = div_up_size(div_up_size(k, across), simd->panel) * simd->panel};
    p.across = div_up_size(k, p.cols);
    p.count = div_up_size(n, p.rows) * p.across;
    return p;
}

/* The parts that take all threads the shortest time. Threads do not begin together: in the mean the
 * last one is done a fraction of a part later. */
static part_grid parts_of(const graph *g, size_t n, size_t k)
{
    const simd_ops *simd = simd_of(g);
    const size_t threads = threads_of(g), least = div_up_size(k, MAX_PART_COLS),
                 most = max_size(threads * TASKS_PER_THREAD, least);
    const double late = threads > 1 ? 0.1 : 0;
    size_t x, dy;
    part_grid best = {0};
    double shortest = 0;
    simd->gemm_tn_costs(&x, &dy);
    for (size_t across = least; across <= most; across++)
        for (size_t down = 1; down == 1 || down * across <= most; down++) {
            const part_grid p = cut_in(simd, n, k, down, across);
            const double time = ((double)div_up_size(p.count, threads) + late)
                                * (double)((p.rows + x) * (p.cols + dy) - x * dy);
            if (best.count && time >= shortest) continue;
            best = p;
            shortest = time;
        }
    return best;
}

/* For one worker, in whole cache lines. */
static size_t tn_scratch_size(const graph *g, part_grid p)
{
    return div_up_size(simd_of(g)->gemm_tn_scratch_size(p.cols), 16) * 16;
}

static size_t scratch(const graph *g, const node *nd, int back)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (back) {
        const size_t packed = nd->in[0]->needs_grad ? simd_of(g)->gemm_packed_size(k, n) : 0;
        const size_t tn = tn_scratch_size(g, parts_of(g, n, k)) * threads_of(g);
        return max_size(packed, tn); /* one after the other */
    }
    return keeps(g, nd) ? 0 : simd_of(g)->gemm_packed_size(n, k);
}

static void forward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    kept *w = nd->object;
    real *packed = w ? w->weights : nd->scratch;
    const int is_packed = w && w->packed == g->step + 1;
    job j = {.simd = simd_of(g),
             .product = {.m = m,
                         .n = n,
                         .k = k,
                         .x = nd->in[0]->data,
                         .x_row = nd->in[0]->row_stride,
                         .packed = packed,
                         .bias = nd->inputs < 3 ? NULL : nd->in[2]->data,
                         .y = nd->out->data,
                         .y_row = n},
             .packing = {n, k, nd->in[1]->data, 1, k, packed}};
    multiply(g, &j, is_packed);
    if (w) w->packed = g->step + 1;
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct weights_job {
    const simd_ops *simd;
    gemm_tn_args product;
    part_grid parts;
    real *scratch;
    size_t scratch_size; /* of a worker */
} weights_job;

static void weights_part(void *arg, size_t task, int worker)
{
    const weights_job *j = arg;
    const part_grid *p = &j->parts;
    const size_t first = task / p->across * p->rows, left = task % p->across * p->cols;
    const gemm_tn_part part = {first, min_size(first + p->rows, j->product.n), left,
                               min_size(left + p->cols, j->product.k)};
    j->simd->gemm_tn(&j->product, &part, j->scratch + (size_t)worker * j->scratch_size);
}

static void backward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (nd->in[0]->needs_grad) {
        job j = {.simd = simd_of(g),
                 .product = {.m = m,
                             .n = k,
                             .k = n,
                             .x = nd->out->grad,
                             .x_row = n,
                             .packed = nd->scratch,
                             .y = nd->in[0]->grad,
                             .y_row = nd->in[0]->row_stride,
                             .adds = nd->adds[0]},
                 .packing = {k, n, nd->in[1]->data, k, 1, nd->scratch}};
        multiply(g, &j, 0);
    }
    weights_job j = {
        .simd = simd_of(g),
        .product = {.m = m,
                    .n = n,
                    .k = k,
                    .x = nd->in[0]->data,
                    .x_row = nd->in[0]->row_stride,
                    .dy = nd->out->grad,
                    .dw = nd->in[1]->needs_grad ? nd->in[1]->grad : NULL,
                    .db = nd->inputs == 3 && nd->in[2]->needs_grad ? nd->in[2]->grad : NULL},
        .parts = parts_of(g, n, k),
        .scratch = nd->scratch};
    if (!j.product.dw && !j.product.db) return;
    j.scratch_size = tn_scratch_size(g, j.parts);
    pool_run(g->context->pool, j.parts.count, weights_part, &j);
}

static double products(const node *nd, int back)
{
    const double one = (double)nd->in[0]->count * (double)last_axis(nd->out);
    return back ? one * (nd->in[0]->needs_grad + nd->in[1]->needs_grad) : one;
}

const op op_linear = {.name = "linear",
                      .reads_in = 3,
                      .strided_in = 1,
                      .scratch = scratch,
                      .prepare = prepare,
                      .forward = forward,
                      .backward = backward,
                      .destroy = destroy,
                      .products = products};

tensor *linear(graph *g, tensor *x, tensor *w, tensor *b)
{
    char one[64], two[64];
    if (g->status) return NULL;
    if (w->rank != 2 || last_axis(w) != last_axis(x) || (b && b->count != w->shape[0]))
        return graph_fail(g, "linear: input %s does not fit weights %s", shape_text(x, one),
                          shape_text(w, two));
    if (w->role == ROLE_VALUE
        /* their gradients are added to, which nobody clears for a value */
        || (b && b->role == ROLE_VALUE))
        return graph_fail(g, "linear: weights and bias must be parameters or inputs, not %s",
                          w->role == ROLE_VALUE ? w->name : b->name);
    size_t shape[GRAPH_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = w->shape[0];
    node *n = graph_add(g, &op_linear, b ? 3 : 2, (tensor *[]){x, w, b}, x->rank, shape, NULL, 0);
    return n ? n->out : NULL;
}
