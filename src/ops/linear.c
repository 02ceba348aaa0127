/* linear - y = x W^T + b.  x: [m][k], W: [n][k], b: [n], y: [m][n].
 *
 * W is packed once for a run (simd/gemm_packed.h), for y and again for dx = dy W; for dW = dy^T x
 * a task packs its part of x (simd/gemm_tn.h). Tasks are blocks of rows of y; for few threads,
 * ranges of rows of dx and dW together; for many, blocks of rows of dx, and then parts of ranges of
 * dW. How tasks are cut depends on the number of threads, but not how an element is summed.
 *
 * y may be bfloat16 in training: a worker computes some rows of it, and rounds them.
 *
 * The factors may be rounded to bfloat16 (graph.gemm): packing rounds W, and a block its rows of x.
 *
 * In training, products that graph.sgemm is faster at are left to it. The bits of oneDNN's depend
 * on how a product is cut, so that these tasks are cut by the shape alone. */
#include "core/arith.h"
#include "core/status.h"
#include "ops/elementwise.h"
#include "ops/linear_impl.h"
#include "ops/linear_int8.h"
#include "ops/ops.h"

/* ---- what a node keeps ----------------------------------------------------------------------- */

/* With more rows than these, packing W in every run costs next to nothing, and memory counts. */
enum { KEEP_ROWS = 2048 };

/* Inference on few images keeps W packed; graph.step tells when W has changed. */
typedef struct kept {
    uint64_t packed;             /* graph.step + 1 for which the weights were packed, 0 before */
    _Alignas(64) real weights[]; /* as many bytes; of the type that gemm_pack makes */
} kept;

static int keeps(const graph *g, const node *nd)
{
    return !g->training && rows_of(nd->in[0]) <= KEEP_ROWS && nd->in[1]->role == ROLE_PARAM;
}

/* Whether a task computes dx and dW of a range, so that dy is read from memory once. */
static int is_fused(const graph *g, const node *nd, const weights_grid *w)
{
    const size_t threads = linear_threads(g);
    return nd->in[0]->needs_grad && nd->in[1]->needs_grad && !linear_by_sgemm(g, LINEAR_DW)
           && (w->ranges >= 2 * threads || w->ranges == threads);
}

/* What a node keeps: packed weights in inference, how dW is cut in training. */
static ssm2d_status prepare(graph *g, node *nd, ssm2d_error *error)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (!g->training && nd->out->type != ELEMENT_REAL)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "linear: gives bfloat16 in training only: convert_to() \"%s\"", nd->out->name);
    if (!keeps(g, nd) && !g->training) return SSM2D_OK;
    nd->object = mem_alloc(
        g->context, g->training
                        ? sizeof(weights_grid)
                        : sizeof(kept) + linear_gemm(g)->gemm_packed_size(n, k) * sizeof(real));
    if (!nd->object) return fail_memory(error, "packed weights of %zu x %zu", n, k);
    if (g->training) *(weights_grid *)nd->object = linear_cut_weights(g, nd);
    return SSM2D_OK;
}

static void destroy(graph *g, node *nd) { mem_free(g->context, nd->object); }

/* ---- scratch --------------------------------------------------------------------------------- */

/* Of backward: W packed for dx; what each worker packs of x; the sums of ranges but the first,
 * [ranges - 1][n*k + n]. All in whole cache lines. */
typedef struct back_scratch {
    size_t packed, worker, range, total;
} back_scratch;

static back_scratch lay_out(const graph *g, const node *nd, const weights_grid *w)
{
    const gemm_table *gemm = linear_gemm(g);
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    const size_t cols = is_fused(g, nd, w) ? min_size(k, LINEAR_PART_COLS) : w->cols;
    const int packs = nd->in[0]->needs_grad && !linear_by_sgemm(g, LINEAR_DX);
    back_scratch s = {.packed = packs ? whole_lines(gemm->gemm_packed_size(k, n)) : 0,
                      .worker = whole_lines(gemm->gemm_tn_scratch_size(cols)),
                      .range = whole_lines(n * k + n)};
    s.total = s.packed + s.worker * linear_threads(g) + s.range * (w->ranges - 1);
    return s;
}

static size_t scratch(const graph *g, const node *nd, int back)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (back) {
        const weights_grid w = linear_cut_weights(g, nd);
        return lay_out(g, nd, &w).total * sizeof(real);
    }
    if (nd->out->type == ELEMENT_BFLOAT16)
        return (whole_lines(linear_gemm(g)->gemm_packed_size(n, k))
                + LINEAR_NARROW_ROWS * n * linear_threads(g))
               * sizeof(real);
    if (keeps(g, nd) || linear_by_sgemm(g, LINEAR_Y)) return 0;
    return linear_gemm(g)->gemm_packed_size(n, k) * sizeof(real);
}

static real *packed_of(const graph *g, const node *nd)
{
    kept *w = g->training ? NULL : nd->object;
    return w ? w->weights : nd->scratch;
}

/* ---- forward --------------------------------------------------------------------------------- */

static void forward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    const real *bias = nd->inputs < 3 ? NULL : nd->in[2]->data;
    const int is_narrow = nd->out->type == ELEMENT_BFLOAT16;
    if (linear_by_sgemm(g, LINEAR_Y) && !is_narrow) {
        sgemm_job s = sgemm_job_of_y(nd);
        sgemm_job_run(g, &s);
        return;
    }
    kept *w = g->training ? NULL : nd->object;
    real *packed = packed_of(g, nd);
    const int is_packed = w && w->packed == g->step + 1;
    packed_job j = {.gemm = linear_gemm(g),
                    .product = {.m = m,
                                .n = n,
                                .k = k,
                                .x = nd->in[0]->data,
                                .x_row = nd->in[0]->row_stride,
                                .packed = packed,
                                .bias = bias,
                                .y = is_narrow ? NULL : nd->out->data,
                                .y_row = n},
                    .packing = {n, k, nd->in[1]->data, 1, k, packed}};
    if (is_narrow) {
        j.cpu = g->context->cpu;
        j.narrow = nd->out->bf16;
        j.narrow_scratch = packed + whole_lines(j.gemm->gemm_packed_size(n, k));
    }
    linear_multiply(g, &j, is_packed);
    if (w) w->packed = g->step + 1;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Packs the weights, unless they are from the run before. */
static void before_rows(const graph *g, const node *nd)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    kept *w = g->training ? NULL : nd->object;
    packed_job j = {.gemm = linear_gemm(g),
                    .packing = {n, k, nd->in[1]->data, 1, k, packed_of(g, nd)}};
    if (w && w->packed == g->step + 1) return;
    linear_pack(g, &j);
    if (w) w->packed = g->step + 1;
}

static void rows(const graph *g, const node *nd, size_t count, const void *const *in, void *out)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    const gemm_packed_args p = {.m = count,
                                .n = n,
                                .k = k,
                                .x = in[0],
                                .x_row = nd->in[0]->row_stride,
                                .packed = packed_of(g, nd),
                                .bias = nd->inputs < 3 ? NULL : in[2],
                                .y = out,
                                .y_row = n};
    linear_gemm(g)->gemm_packed(&p, 0, n);
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct back_job {
    const graph *g;
    const node *nd;
    const gemm_table *gemm;
    weights_grid grid;
    back_scratch sizes;
    gemm_packed_args dx; /* of all rows */
    gemm_tn_args dw;     /* of all rows, into dW itself */
    real *workers, *sums;
} back_job;

/* dW of rows [first, end) of x and dy, which are in a range. */
static gemm_tn_args weights_of(const back_job *j, size_t range, size_t first, size_t end)
{
    gemm_tn_args a = j->dw;
    const size_t start = j->dw.m * range / j->grid.ranges;
    a.m = end - first;
    a.after = min_size(j->dw.m - end, a.depth);
    a.x += first * a.x_row;
    a.dy += first * a.n;
    if (!range) return a;
    real *sums = j->sums + (range - 1) * j->sizes.range;
    if (a.dw) a.dw = sums;
    if (a.db) a.db = sums + a.n * a.k;
    a.adds = first > start;
    return a;
}

/* dW of a part by graph.sgemm; db is computed by gemm_tn. */
static void part_by_sgemm(const graph *g, gemm_tn_args *a, const gemm_tn_part *part)
{
    sgemm_args p = sgemm_part_of_dw(a, part);
    p.a = a->dy + part->first;
    p.b = a->x + part->left;
    p.c = a->dw + part->first * a->k + part->left;
    sgemm_or_note(g, &p);
    a->dw = NULL;
}

static void weights_task(void *arg, size_t task, int worker)
{
    const back_job *j = arg;
    const weights_grid *w = &j->grid;
    const size_t range = task / w->parts, p = task % w->parts, m = j->dw.m,
                 row = p / w->across * w->rows, left = p % w->across * w->cols;
    const gemm_tn_part part = {row, min_size(row + w->rows, j->dw.n), left,
                               min_size(left + w->cols, j->dw.k)};
    gemm_tn_args a = weights_of(j, range, m * range / w->ranges, m * (range + 1) / w->ranges);
    if (a.dw && linear_by_sgemm(j->g, LINEAR_DW)) part_by_sgemm(j->g, &a, &part);
    if (!a.dw && !a.db) return;
    j->gemm->gemm_tn(&a, &part, j->workers + (size_t)worker * j->sizes.worker);
}

/* dx and dW of a range, slab by slab. */
static void range_task(void *arg, size_t range, int worker)
{
    const back_job *j = arg;
    const size_t m = j->dw.m, end = m * (range + 1) / j->grid.ranges;
    for (size_t i = m * range / j->grid.ranges, rows; i < end; i += rows) {
        rows = min_size(end - i, j->grid.depth);
        gemm_packed_args dx = j->dx;
        dx.m = rows;
        dx.x += i * dx.x_row;
        dx.y += i * dx.y_row;
        j->gemm->gemm_packed(&dx, 0, dx.n);
        const gemm_tn_args a = weights_of(j, range, i, i + rows);
        for (size_t left = 0; left < a.k; left += LINEAR_PART_COLS) {
            const gemm_tn_part part = {0, a.n, left, min_size(left + LINEAR_PART_COLS, a.k)};
            j->gemm->gemm_tn(&a, &part, j->workers + (size_t)worker * j->sizes.worker);
        }
    }
}

/* A row of dW gets the sums of all ranges, in order. */
static void add_ranges(void *arg, size_t row, int worker)
{
    (void)worker;
    const back_job *j = arg;
    const size_t k = j->dw.k, n = j->dw.n;
    for (size_t range = 1; range < j->grid.ranges; range++) {
        const real *sums = j->sums + (range - 1) * j->sizes.range;
        for (size_t i = 0; j->dw.dw && i < k; i++) j->dw.dw[row * k + i] += sums[row * k + i];
        if (j->dw.db) j->dw.db[row] += sums[n * k + row];
    }
}

static void multiply_dx(const graph *g, const node *nd, packed_job *packing)
{
    sgemm_job s = sgemm_job_of_dx(nd);
    if (linear_by_sgemm(g, LINEAR_DX))
        sgemm_job_run(g, &s);
    else
        linear_multiply(g, packing, 0);
}

static void backward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    back_job j = {.g = g,
                  .nd = nd,
                  .gemm = linear_gemm(g),
                  .grid = *(const weights_grid *)nd->object,
                  .dx = {.m = m,
                         .n = k,
                         .k = n,
                         .x = nd->out->grad,
                         .x_row = n,
                         .packed = nd->scratch,
                         .y = nd->in[0]->grad,
                         .y_row = nd->in[0]->row_stride,
                         .adds = nd->adds[0]},
                  .dw = {.m = m,
                         .n = n,
                         .k = k,
                         .x = nd->in[0]->data,
                         .x_row = nd->in[0]->row_stride,
                         .dy = nd->out->grad,
                         .dw = nd->in[1]->needs_grad ? nd->in[1]->grad : NULL,
                         .db = nd->inputs == 3 && nd->in[2]->needs_grad ? nd->in[2]->grad : NULL,
                         .adds = 1}};
    pool *threads = g->context->pool;
    const int fused = is_fused(g, nd, &j.grid);
    j.dw.depth = j.grid.depth;
    j.sizes = lay_out(g, nd, &j.grid);
    j.workers = (real *)nd->scratch + j.sizes.packed;
    j.sums = j.workers + j.sizes.worker * linear_threads(g);
    packed_job packing = {
        .gemm = j.gemm, .product = j.dx, .packing = {k, n, nd->in[1]->data, k, 1, nd->scratch}};
    if (fused) {
        linear_pack(g, &packing);
        pool_run(threads, j.grid.ranges, range_task, &j);
    } else {
        if (nd->in[0]->needs_grad) multiply_dx(g, nd, &packing);
        if (!j.dw.dw && !j.dw.db) return;
        pool_run(threads, j.grid.ranges * j.grid.parts, weights_task, &j);
    }
    if (j.grid.ranges > 1) pool_run(threads, n, add_ranges, &j);
}

static double products(const node *nd, int back)
{
    const double one = (double)nd->in[0]->count * (double)last_axis(nd->out);
    return back ? one * (nd->in[0]->needs_grad + nd->in[1]->needs_grad) : one;
}

const op op_linear = {.name = "linear",
                      .reads_in = 3,
                      .affordable = 1,
                      .strided_in = 1,
                      .gives = ELEMENT_BIT(ELEMENT_REAL) | ELEMENT_BIT(ELEMENT_BFLOAT16),
                      .scratch = scratch,
                      .prepare = prepare,
                      .warm_up = linear_warm_up,
                      .forward = forward,
                      .rows = rows,
                      .before_rows = before_rows,
                      .rows_in = 1,
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
        /* gradients of parameters are added to; those of values would not be cleared */
        || (b && b->role == ROLE_VALUE))
        return graph_fail(g, "linear: weights and bias must be parameters or inputs, not %s",
                          w->role == ROLE_VALUE ? w->name : b->name);
    const quantized_linear *layer = quantization_find(g->quantization, w->name);
    if (layer) return linear_int8(g, x, w, b, layer);
    size_t shape[GRAPH_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = w->shape[0];
    node *n = graph_add(g, &op_linear, b ? 3 : 2, (tensor *[]){x, w, b}, x->rank, shape, NULL, 0);
    return n ? n->out : NULL;
}
