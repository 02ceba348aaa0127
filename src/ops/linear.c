/* linear - y = x W^T + b.  x: [m][k], W: [n][k], b: [n], y: [m][n].
 *
 * W is packed once for a run (simd/gemm_packed.h), for y and again for dx = dy W; for dW = dy^T x
 * a task packs its part of x (simd/gemm_tn.h). Tasks are blocks of rows of y; for few threads,
 * ranges of rows of dx and dW together; for many, blocks of rows of dx, and then parts of ranges of
 * dW. How tasks are cut depends on the number of threads, but not how a number is summed.
 *
 * In training, products that graph.sgemm is faster at are left to it. The bits of oneDNN's depend
 * on how a product is cut, so that these tasks are cut by the shape alone. */
#include "core/arith.h"
#include "core/status.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

#include <string.h>

/* A task has at least MIN_ROWS and at most MAX_ROWS rows, whole blocks of 12. Fewer than FEW_ROWS
 * rows, as of one image, are not cut at all; tasks get some of the columns then. */
enum { MIN_ROWS = 48, MAX_ROWS = 192, BLOCK = 12, FEW_ROWS = 256, BLOCK_COLS = 48 };
enum { TASKS_PER_THREAD = 4 };
/* With more rows than these, packing W in every run costs next to nothing, and memory counts. */
enum { KEEP_ROWS = 2048 };

static size_t threads_of(const graph *g) { return (size_t)pool_threads(g->context->pool); }

static size_t block_rows(const graph *g, size_t m)
{
    if (m < FEW_ROWS) return m;
    const size_t wanted = div_up_size(m, threads_of(g) * TASKS_PER_THREAD * BLOCK) * BLOCK;
    return min_size(max_size(wanted, MIN_ROWS), MAX_ROWS);
}

/* ---- products of another library ------------------------------------------------------------- */

enum { SGEMM_Y = 1, SGEMM_DX = 2, SGEMM_DW = 4 };
/* Tasks of a product: enough for 64 threads, unless they become too small. Of dW fewer, as each
 * part reads x or dy once more. */
enum { SGEMM_TASKS = 64, SGEMM_LEAST_ROWS = 96, SGEMM_PARTS = 32, SGEMM_LEAST_PART = 48 };

/* What goes there: where oneDNN's sgemm was faster than the products here, by the instruction set
 * (bench/results/linear.csv). */
static int sgemm_does(const graph *g, int product)
{
    static const int by_cpu[] = {
        [CPU_BASELINE] = 0, [CPU_AVX2] = SGEMM_Y | SGEMM_DX | SGEMM_DW, [CPU_AVX512] = SGEMM_DW};
    return g->sgemm && g->training && (by_cpu[g->context->cpu] & product);
}

static size_t sgemm_rows(size_t m)
{
    const size_t wanted = div_up_size(m, SGEMM_TASKS * MIN_ROWS) * MIN_ROWS;
    return min_size(max_size(wanted, SGEMM_LEAST_ROWS), MAX_ROWS);
}

typedef struct sgemm_job {
    sgemm_function *sgemm;
    sgemm_args product; /* of all rows */
    const real *bias;   /* or NULL */
    size_t rows;        /* of a task */
} sgemm_job;

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

static void multiply_by_sgemm(const graph *g, sgemm_job *j)
{
    j->sgemm = g->sgemm;
    j->rows = sgemm_rows(j->product.m);
    pool_run(g->context->pool, div_up_size(j->product.m, j->rows), sgemm_block, j);
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

/* Columns of a task, whole panels. */
static size_t block_cols(const simd_ops *simd)
{
    return max_size(BLOCK_COLS / simd->panel, 1) * simd->panel;
}

static void pack_all(const graph *g, job *j)
{
    j->cols = block_cols(j->simd);
    pool_run(g->context->pool, div_up_size(j->packing.n, j->cols), pack_block, j);
}

/* is_packed: the weights have been packed before. */
static void multiply(const graph *g, job *j, int is_packed)
{
    const size_t m = j->product.m, n = j->product.n;
    j->rows = block_rows(g, m);
    if (j->rows < m) { /* every block of rows needs all of the weights */
        if (!is_packed) pack_all(g, j);
        j->cols = n;
    } else {
        j->cols = block_cols(j->simd);
        j->pack = !is_packed;
    }
    j->across = div_up_size(n, j->cols);
    pool_run(g->context->pool, div_up_size(m, j->rows) * j->across, product_block, j);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Inference on few images keeps W packed; graph.step tells when W has changed. */
typedef struct kept {
    uint64_t packed; /* graph.step + 1 for which the weights were packed, 0 before */
    _Alignas(64) real weights[];
} kept;

static int keeps(const graph *g, const node *nd)
{
    return !g->training && rows_of(nd->in[0]) <= KEEP_ROWS && nd->in[1]->role == ROLE_PARAM;
}

/* ---- how dW is cut --------------------------------------------------------------------------- */

/* Columns of x that are packed at once stay in the second cache, and so do rows of x and dy, which
 * are read twice; sums of ranges take some memory. */
enum { PART_COLS = 256, SLAB_NUMBERS = 131072, SLAB_MIN = 64, RANGE_ROWS = 512, RANGES = 4 };
enum { RANGE_NUMBERS = 3 << 19 };

/* The rows of x and dy are cut into ranges, each of which has sums of its own (the first one dW
 * itself), and a range into slabs of `depth` rows: both by the shape, since the last bits depend on
 * them. dW is cut into parts of rows x cols, `across` of them side by side. */
typedef struct weights_grid {
    size_t ranges, depth;
    size_t rows, cols, across, parts;
} weights_grid;

static void cut_in_parts(weights_grid *w, const simd_ops *simd, size_t n, size_t k, size_t down,
                         size_t across)
{
    w->rows = div_up_size(div_up_size(n, down), simd->tn_rows) * simd->tn_rows;
    w->cols = div_up_size(div_up_size(k, across), simd->panel) * simd->panel;
    w->across = div_up_size(k, w->cols);
    w->parts = div_up_size(n, w->rows) * w->across;
}

/* The parts that take all threads the shortest time. Threads do not begin together: in the mean the
 * last one is done a fraction of a part later. */
static void choose_parts(weights_grid *w, const graph *g, size_t n, size_t k)
{
    const simd_ops *simd = simd_of(g);
    const size_t threads = threads_of(g), least = div_up_size(k, PART_COLS),
                 most = max_size(threads * TASKS_PER_THREAD, least);
    const double late = threads > 1 ? 0.1 : 0;
    size_t x, dy;
    weights_grid try = *w;
    double shortest = 0;
    simd->gemm_tn_costs(&x, &dy);
    for (size_t across = least; across <= most; across++)
        for (size_t down = 1; down == 1 || down * across <= most; down++) {
            cut_in_parts(&try, simd, n, k, down, across);
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
        if (w->ranges * w->parts >= SGEMM_PARTS || max_size(w->rows, w->cols) <= SGEMM_LEAST_PART)
            return;
        if (w->rows >= w->cols)
            down *= 2;
        else
            across *= 2;
    }
}

static weights_grid cut_weights(const graph *g, const node *nd)
{
    const simd_ops *simd = simd_of(g);
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out),
                 slab = SLAB_NUMBERS / (n + k) / 8 * 8;
    weights_grid w = {
        .ranges = max_size(min_size(min_size(m / RANGE_ROWS, RANGE_NUMBERS / (n * k)), RANGES), 1),
        .depth = min_size(max_size(slab, SLAB_MIN), simd->tn_depth)};
    if (sgemm_does(g, SGEMM_DW))
        choose_sgemm_parts(&w, n, k);
    else
        choose_parts(&w, g, n, k);
    return w;
}

/* Whether a task computes dx and dW of a range, so that dy is read from memory once. */
static int is_fused(const graph *g, const node *nd, const weights_grid *w)
{
    const size_t threads = threads_of(g);
    return nd->in[0]->needs_grad && nd->in[1]->needs_grad && !sgemm_does(g, SGEMM_DW)
           && (w->ranges >= 2 * threads || w->ranges == threads);
}

/* What a node keeps: packed weights in inference, how dW is cut in training. */
static ssm2d_status prepare(graph *g, node *nd, ssm2d_error *error)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (!keeps(g, nd) && !g->training) return SSM2D_OK;
    nd->object = mem_alloc(
        g->context, g->training ? sizeof(weights_grid)
                                : sizeof(kept) + simd_of(g)->gemm_packed_size(n, k) * sizeof(real));
    if (!nd->object)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for packed weights of %zu x %zu", n, k);
    if (g->training) *(weights_grid *)nd->object = cut_weights(g, nd);
    return SSM2D_OK;
}

static void destroy(graph *g, node *nd) { mem_free(g->context, nd->object); }

/* ---- scratch --------------------------------------------------------------------------------- */

/* Of backward: W packed for dx; what each worker packs of x; the sums of ranges but the first,
 * [ranges - 1][n*k + n]. All in whole cache lines. */
typedef struct back_scratch {
    size_t packed, worker, range, total;
} back_scratch;

static size_t whole_lines(size_t numbers) { return div_up_size(numbers, 16) * 16; }

static back_scratch lay_out(const graph *g, const node *nd, const weights_grid *w)
{
    const simd_ops *simd = simd_of(g);
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    const size_t cols = is_fused(g, nd, w) ? min_size(k, PART_COLS) : w->cols;
    const int packs = nd->in[0]->needs_grad && !sgemm_does(g, SGEMM_DX);
    back_scratch s = {.packed = packs ? whole_lines(simd->gemm_packed_size(k, n)) : 0,
                      .worker = whole_lines(simd->gemm_tn_scratch_size(cols)),
                      .range = whole_lines(n * k + n)};
    s.total = s.packed + s.worker * threads_of(g) + s.range * (w->ranges - 1);
    return s;
}

static size_t scratch(const graph *g, const node *nd, int back)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (back) {
        const weights_grid w = cut_weights(g, nd);
        return lay_out(g, nd, &w).total;
    }
    return keeps(g, nd) || sgemm_does(g, SGEMM_Y) ? 0 : simd_of(g)->gemm_packed_size(n, k);
}

static real *packed_of(const graph *g, const node *nd)
{
    kept *w = g->training ? NULL : nd->object;
    return w ? w->weights : nd->scratch;
}

static void forward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    const real *bias = nd->inputs < 3 ? NULL : nd->in[2]->data;
    if (sgemm_does(g, SGEMM_Y)) {
        sgemm_job s = {.product = {.b_transposed = 1,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .a = nd->in[0]->data,
                                   .b = nd->in[1]->data,
                                   .c = nd->out->data,
                                   .a_row = nd->in[0]->row_stride,
                                   .b_row = k,
                                   .c_row = n},
                       .bias = bias};
        multiply_by_sgemm(g, &s);
        return;
    }
    kept *w = g->training ? NULL : nd->object;
    real *packed = packed_of(g, nd);
    const int is_packed = w && w->packed == g->step + 1;
    job j = {.simd = simd_of(g),
             .product = {.m = m,
                         .n = n,
                         .k = k,
                         .x = nd->in[0]->data,
                         .x_row = nd->in[0]->row_stride,
                         .packed = packed,
                         .bias = bias,
                         .y = nd->out->data,
                         .y_row = n},
             .packing = {n, k, nd->in[1]->data, 1, k, packed}};
    multiply(g, &j, is_packed);
    if (w) w->packed = g->step + 1;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Packs the weights, unless they are from the run before. */
static void before_rows(const graph *g, const node *nd)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    kept *w = g->training ? NULL : nd->object;
    job j = {.simd = simd_of(g), .packing = {n, k, nd->in[1]->data, 1, k, packed_of(g, nd)}};
    if (w && w->packed == g->step + 1) return;
    pack_all(g, &j);
    if (w) w->packed = g->step + 1;
}

static void rows(const graph *g, const node *nd, size_t count, const real *const *in, real *out)
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
    simd_of(g)->gemm_packed(&p, 0, n);
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct back_job {
    const graph *g;
    const node *nd;
    const simd_ops *simd;
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

/* dW of a part by graph.sgemm; db here. */
static int part_by_sgemm(const back_job *j, gemm_tn_args *a, const gemm_tn_part *part)
{
    const sgemm_args p = {.a_transposed = 1,
                          .m = part->end - part->first,
                          .n = part->right - part->left,
                          .k = a->m,
                          .a = a->dy + part->first,
                          .b = a->x + part->left,
                          .c = a->dw + part->first * a->k + part->left,
                          .a_row = a->n,
                          .b_row = a->x_row,
                          .c_row = a->k,
                          .adds = a->adds};
    if (!a->dw || !j->g->sgemm(&p)) return 0;
    a->dw = NULL;
    return 1;
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
    if (sgemm_does(j->g, SGEMM_DW) && part_by_sgemm(j, &a, &part) && !a.db) return;
    j->simd->gemm_tn(&a, &part, j->workers + (size_t)worker * j->sizes.worker);
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
        j->simd->gemm_packed(&dx, 0, dx.n);
        const gemm_tn_args a = weights_of(j, range, i, i + rows);
        for (size_t left = 0; left < a.k; left += PART_COLS) {
            const gemm_tn_part part = {0, a.n, left, min_size(left + PART_COLS, a.k)};
            j->simd->gemm_tn(&a, &part, j->workers + (size_t)worker * j->sizes.worker);
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

static void multiply_dx(const graph *g, const node *nd, job *packing)
{
    const gemm_packed_args *p = &packing->product;
    sgemm_job s = {.product = {.m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .a = p->x,
                               .b = nd->in[1]->data,
                               .c = p->y,
                               .a_row = p->x_row,
                               .b_row = p->n,
                               .c_row = p->y_row,
                               .adds = p->adds}};
    if (sgemm_does(g, SGEMM_DX))
        multiply_by_sgemm(g, &s);
    else
        multiply(g, packing, 0);
}

static void backward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    back_job j = {.g = g,
                  .nd = nd,
                  .simd = simd_of(g),
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
    j.workers = nd->scratch + j.sizes.packed;
    j.sums = j.workers + j.sizes.worker * threads_of(g);
    job packing = {
        .simd = j.simd, .product = j.dx, .packing = {k, n, nd->in[1]->data, k, 1, nd->scratch}};
    if (fused) {
        pack_all(g, &packing);
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
                      .scratch = scratch,
                      .prepare = prepare,
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
