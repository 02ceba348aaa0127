/* linear - y = x W^T + b.  x: [m][k], W: [n][k], b: [n], y: [m][n].
 *
 * W is packed once for a run (simd/gemm_packed.h), for y and again for dx = dy W; for dW = dy^T x
 * it is x that is packed, a chunk of rows at a time (simd/gemm_tn.h). Tasks are blocks of rows (of
 * dW: blocks of its rows over a chunk), a function of the shape alone, so that the result does not
 * depend on the number of threads. */
#include "core/arith.h"
#include "core/status.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

/* A task has at most BLOCK_ROWS rows: so many that reading the packed weights for them costs little
 * in comparison, and few enough for them to stay in the second-level cache. Fewer than FEW_ROWS
 * rows, as of one image, are not cut at all; tasks get some of the columns then. */
enum { BLOCK_ROWS = 256, FEW_ROWS = 256, TASKS_WANTED = 8, BLOCK_COLS = 48 };
/* So many rows of x are packed at a time for dW. */
enum { TN_CHUNK = 2048 };

static size_t block_rows(size_t m)
{
    return m < FEW_ROWS ? m : min_size(div_up_size(m, TASKS_WANTED), BLOCK_ROWS);
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
    j->rows = block_rows(m);
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

/* For one worker, in whole cache lines. */
static size_t tn_scratch_size(const graph *g)
{
    return div_up_size(simd_of(g)->gemm_tn_scratch_size(BLOCK_COLS), 16) * 16;
}

/* Of a chunk of x. */
static size_t tn_packed_size(const graph *g, const node *nd)
{
    const size_t rows = min_size(rows_of(nd->in[0]), TN_CHUNK);
    return div_up_size(simd_of(g)->gemm_tn_packed_size(rows, last_axis(nd->in[0])), 16) * 16;
}

static size_t scratch(const graph *g, const node *nd, int back)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (back) {
        const size_t packed = nd->in[0]->needs_grad ? simd_of(g)->gemm_packed_size(k, n) : 0;
        const size_t tn =
            tn_packed_size(g, nd) + tn_scratch_size(g) * (size_t)pool_threads(g->context->pool);
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
    real *scratch;
    size_t scratch_size; /* of a worker */
} weights_job;

static void pack_slab(void *arg, size_t slab, int worker)
{
    (void)worker;
    const weights_job *j = arg;
    j->simd->gemm_tn_pack(&j->product, slab);
}

static void weight_block(void *arg, size_t task, int worker)
{
    const weights_job *j = arg;
    const size_t first = task * BLOCK_COLS, end = first + BLOCK_COLS, n = j->product.n;
    j->simd->gemm_tn(&j->product, first, min_size(end, n),
                     j->scratch + (size_t)worker * j->scratch_size);
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
        .product = {.n = n,
                    .k = k,
                    .x_row = nd->in[0]->row_stride,
                    .dw = nd->in[1]->needs_grad ? nd->in[1]->grad : NULL,
                    .db = nd->inputs == 3 && nd->in[2]->needs_grad ? nd->in[2]->grad : NULL,
                    .packed = nd->scratch},
        .scratch = nd->scratch + tn_packed_size(g, nd),
        .scratch_size = tn_scratch_size(g)};
    if (!j.product.dw && !j.product.db) return;
    for (size_t i = 0; i < m; i += TN_CHUNK) {
        j.product.m = min_size(m - i, TN_CHUNK);
        j.product.x = nd->in[0]->data + i * j.product.x_row;
        j.product.dy = nd->out->grad + i * n;
        if (j.product.dw)
            pool_run(g->context->pool, j.simd->gemm_tn_slabs(j.product.m), pack_slab, &j);
        pool_run(g->context->pool, div_up_size(n, BLOCK_COLS), weight_block, &j);
    }
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
