/* linear_int8 - y = x W^T + b with 8-bit factors, for inference: what `linear` appends for a layer
 * in graph.quantization (simd/gemm_int8_table.h has the formula). The weights are packed when they
 * have changed, which graph.step tells. */
#include "ops/linear_int8.h"

#include "core/arith.h"
#include "core/status.h"
#include "ops/elementwise.h"
#include "ops/simd/gemm_int8_table.h"

/* A task has at least MIN_ROWS rows and at most MAX_ROWS, whole blocks of 12; with fewer rows for
 * each thread, tasks get some of the columns. */
enum { MIN_ROWS = 48, MAX_ROWS = 192, BLOCK = 12, TASKS_PER_THREAD = 4 };

typedef struct kept {
    uint64_t packed_at; /* graph.step + 1 for which the weights were packed, 0 before */
    _Alignas(64) char weights[];
} kept;

static const quantized_linear *layer_of(const node *nd)
{
    return *(const quantized_linear *const *)nd->attributes;
}

static ssm2d_status prepare(graph *g, node *nd, ssm2d_error *error)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    nd->object = mem_alloc(g->context, sizeof(kept) + gemm_int8_for(g->context->cpu)->size(n, k));
    return nd->object ? SSM2D_OK : fail_memory(error, "packed weights of %zu x %zu", n, k);
}

static void destroy(graph *g, node *nd) { mem_free(g->context, nd->object); }

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct job {
    const gemm_int8_table *gemm;
    gemm_int8_pack_args packing;
    gemm_int8_args product;
    size_t rows, cols, across; /* of a task; tasks side by side */
} job;

static void pack_columns(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const size_t first = task * j->gemm->panel;
    j->gemm->pack(&j->packing, first, min_size(first + j->gemm->panel, j->packing.n));
}

static void before_rows(const graph *g, const node *nd)
{
    const quantized_linear *q = layer_of(nd);
    kept *w = nd->object;
    const job j = {.gemm = gemm_int8_for(g->context->cpu),
                   .packing = {.n = last_axis(nd->out),
                               .k = last_axis(nd->in[0]),
                               .weights = (const float *)nd->in[1]->data,
                               .scales = q->weight_scales,
                               .bias = nd->inputs < 3 ? NULL : (const float *)nd->in[2]->data,
                               .x_scale = q->scale,
                               .zero = q->zero,
                               .packed = w->weights}};
    if (w->packed_at == g->step + 1) return;
    pool_run(g->context->pool, div_up_size(j.packing.n, j.gemm->panel), pack_columns, (void *)&j);
    w->packed_at = g->step + 1;
}

/* ---- the product ----------------------------------------------------------------------------- */

static gemm_int8_args product_of(const node *nd, size_t m, const void *x, void *y)
{
    const quantized_linear *q = layer_of(nd);
    return (gemm_int8_args){.m = m,
                            .n = last_axis(nd->out),
                            .k = last_axis(nd->in[0]),
                            .x_row = nd->in[0]->row_stride,
                            .y_row = last_axis(nd->out),
                            .x = x,
                            .x_scale = q->scale,
                            .zero = q->zero,
                            .packed = ((const kept *)nd->object)->weights,
                            .y = y};
}

static void rows(const graph *g, const node *nd, size_t count, const void *const *in, void *out)
{
    const gemm_int8_args p = product_of(nd, count, in[0], out);
    gemm_int8_for(g->context->cpu)->multiply(&p, 0, p.n);
}

static void multiply_part(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    gemm_int8_args p = j->product;
    const size_t i = task / j->across * j->rows, first = task % j->across * j->cols;
    p.m = min_size(j->rows, p.m - i);
    p.x += i * p.x_row;
    p.y += i * p.y_row;
    j->gemm->multiply(&p, first, min_size(first + j->cols, p.n));
}

static void forward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), threads = (size_t)pool_threads(g->context->pool);
    job j = {.gemm = gemm_int8_for(g->context->cpu),
             .product = product_of(nd, m, nd->in[0]->data, nd->out->data)};
    const size_t n = j.product.n, panel = j.gemm->panel;
    before_rows(g, nd);
    j.rows = m;
    j.cols = n;
    if (m < MIN_ROWS * threads)
        j.cols = div_up_size(div_up_size(n, threads), panel) * panel;
    else
        j.rows =
            min_size(max_size(div_up_size(m, threads * TASKS_PER_THREAD * BLOCK) * BLOCK, MIN_ROWS),
                     MAX_ROWS);
    j.across = div_up_size(n, j.cols);
    pool_run(g->context->pool, div_up_size(m, j.rows) * j.across, multiply_part, &j);
}

static double products(const node *nd, int back)
{
    return back ? 0 : (double)nd->in[0]->count * (double)last_axis(nd->out);
}

static const op op_linear_int8 = {.name = "linear_int8",
                                  .strided_in = 1,
                                  .prepare = prepare,
                                  .forward = forward,
                                  .rows = rows,
                                  .before_rows = before_rows,
                                  .rows_in = 1,
                                  .destroy = destroy,
                                  .products = products};

tensor *linear_int8(graph *g, tensor *x, tensor *w, tensor *b, const quantized_linear *layer)
{
    size_t shape[GRAPH_RANK];
    if (g->training || !gemm_int8_for(g->context->cpu))
        return graph_fail(g, "linear: %s is quantised, which is for inference in float", w->name);
    if (layer->outputs != w->shape[0] || last_axis(x) > GEMM_INT8_MAX_K)
        return graph_fail(g, "linear: %s of %zu x %zu has %zu scales, and at most %d inputs",
                          w->name, w->shape[0], last_axis(x), layer->outputs, GEMM_INT8_MAX_K);
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = w->shape[0];
    node *n = graph_add(g, &op_linear_int8, b ? 3 : 2, (tensor *[]){x, w, b}, x->rank, shape,
                        &layer, sizeof layer);
    return n ? n->out : NULL;
}
