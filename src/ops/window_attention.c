/* window_attention - softmax attention among few tokens: the windows of Swin, and small images. The
 * same as attention.c otherwise, and asked for by the same functions.
 *
 * A head of a group of tokens is one call of simd/attend_window.h, which gathers the tokens from
 * where they are in the image, and keeps [groups][heads][tokens] elements for backward. Each head's
 * bias is laid out whole for a run, [tokens][row], by key and then query.
 *
 * A task is a range of heads, group by group. Where the table needs its gradient, backward has
 * ranges of groups with sums of their own, which are added up in order in the end; each is done by
 * one task, or where they are few by a task for each head. Tasks depend on shapes alone.
 *
 * Factors stay real whatever graph.gemm is: products as small as these would not gain what
 * packing them in pairs costs (measured with AVX512-BF16). */
#include "core/arith.h"
#include "ops/attention_impl.h"
#include "ops/elementwise.h"

#include <string.h>

enum { TASK_PRODUCTS = 1 << 19 };     /* multiply-adds that are worth a task, about */
enum { RANGES = 32, GROUPS_MIN = 4 }; /* sums for the table: how many, and of how many groups */

typedef struct job {
    const graph *g;
    const node *n;
    const attention_attributes *a;
    const gemm_table *gemm;
    size_t bias_size;      /* elements of a head's bias as laid out */
    size_t ranges;         /* of groups, with sums of their own */
    size_t heads_per_task; /* over all groups */
    size_t worker_size;    /* elements of scratch per worker */
    real *bias, *dbias;    /* [heads][bias_size], [ranges][heads][bias_size] */
    real *worker_memory;   /* [workers][worker_size] */
} job;

static int bias_needs_grad(const node *n)
{
    return attention_of_node(n)->entries && n->in[BIAS]->needs_grad;
}

/* How the scratch is cut; returns its size. */
static size_t lay_out(job *j, int back)
{
    const attention_attributes *a = j->a;
    const size_t bias = a->entries ? whole_lines(a->heads * j->bias_size) : 0,
                 sums = back && bias_needs_grad(j->n) ? j->ranges * a->heads * j->bias_size : 0;
    j->worker_size =
        whole_lines(j->gemm->attend_window->scratch_size(a->tokens, a->width, a->v_width, back));
    if (j->n->scratch) {
        j->bias = j->n->scratch;
        j->dbias = sums ? j->bias + bias : NULL;
        j->worker_memory = j->bias + bias + whole_lines(sums);
    }
    return bias + whole_lines(sums) + j->worker_size * (size_t)pool_threads(j->g->context->pool);
}

static job job_of(const graph *g, const node *n, int back)
{
    const attention_attributes *a = attention_of_node(n);
    const gemm_table *gemm = gemm_for(g->context->cpu);
    const size_t head = a->tokens * a->tokens * (a->width + a->v_width) * (back ? 3 : 1);
    return (job){.g = g,
                 .n = n,
                 .a = a,
                 .gemm = gemm,
                 .bias_size = a->tokens * gemm->attend_window->row(a->tokens),
                 .ranges = max_size(min_size(RANGES, a->groups / GROUPS_MIN), 1),
                 .heads_per_task = max_size(TASK_PRODUCTS / head, 1)};
}

static size_t scratch(const graph *g, const node *n, int back)
{
    job j = job_of(g, n, back);
    return lay_out(&j, back) * sizeof(real);
}

static size_t saved(const graph *g, const node *n)
{
    const attention_attributes *a = attention_of_node(n);
    const size_t row = gemm_for(g->context->cpu)->attend_window->row(a->tokens);
    return a->groups * a->heads * row * sizeof(real);
}

/* ---- bias ------------------------------------------------------------------------------------ */

static void lay_out_bias(void *arg, size_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    const attention_attributes *a = j->a;
    const size_t row = j->bias_size / a->tokens;
    const real *table = j->n->in[BIAS]->data + head;
    real *bias = j->bias + head * j->bias_size;
    for (size_t key = 0; key < a->tokens; key++, bias += row)
        for (size_t query = 0; query < row; query++)
            bias[query] = query < a->tokens ? table[bias_entry(a, query, key) * a->heads] : 0;
}

/* The sums of all ranges, in order, go to the table's gradient. */
static void add_up_bias(void *arg, size_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    const attention_attributes *a = j->a;
    const size_t row = j->bias_size / a->tokens;
    const tensor *table = j->n->in[BIAS];
    real *dtable = table->grad + head, *sums = j->dbias + head * j->bias_size;
    if (!j->n->adds[BIAS])
        for (size_t e = head; e < table->count; e += a->heads) table->grad[e] = 0;
    for (size_t range = 1; range < j->ranges; range++) {
        const real *more = sums + range * a->heads * j->bias_size;
        for (size_t e = 0; e < j->bias_size; e++) sums[e] += more[e];
    }
    for (size_t key = 0; key < a->tokens; key++)
        for (size_t query = 0; query < a->tokens; query++)
            dtable[bias_entry(a, query, key) * a->heads] += sums[key * row + query];
}

/* ---- heads ----------------------------------------------------------------------------------- */

static attend_window_args args_of(const job *j, size_t group, size_t head, int worker)
{
    const node *n = j->n;
    const attention_attributes *a = j->a;
    const size_t row = group_row(n, group);
    return (attend_window_args){
        .tokens = a->tokens,
        .width = a->width,
        .v_width = a->v_width,
        .q_row = n->in[Q]->row_stride,
        .k_row = n->in[K]->row_stride,
        .v_row = n->in[V]->row_stride,
        .out_row = n->out->row_stride,
        .order = group_order(a, group),
        .scale = (real)a->scale,
        .q = row_data(n->in[Q], row) + head * a->width,
        .k = row_data(n->in[K], row) + head * a->width,
        .v = row_data(n->in[V], row) + head * a->v_width,
        .out = row_data(n->out, row) + head * a->v_width,
        .bias = a->entries ? j->bias + head * j->bias_size : NULL,
        .mask = group_mask(a, group),
        .lse = j->g->training
                   ? (real *)n->saved + (group * a->heads + head) * (j->bias_size / a->tokens)
                   : NULL,
        .scratch = j->worker_memory + (size_t)worker * j->worker_size};
}

static void backward_head(const job *j, size_t group, size_t head, real *dbias, int worker)
{
    const node *n = j->n;
    const attention_attributes *a = j->a;
    const size_t row = group_row(n, group);
    attend_window_args args = args_of(j, group, head, worker);
    args.dout = row_grad(n->out, row) + head * a->v_width;
    args.dq = attention_gradient(n, Q, row, head * a->width);
    args.dk = attention_gradient(n, K, row, head * a->width);
    args.dv = attention_gradient(n, V, row, head * a->v_width);
    args.dq_adds = n->adds[Q];
    args.dk_adds = n->adds[K];
    args.dv_adds = n->adds[V];
    args.dbias = dbias;
    j->gemm->attend_window->backward(&args);
}

static void forward_heads(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const size_t heads = j->a->heads, first = task * j->heads_per_task,
                 end = min_size(first + j->heads_per_task, heads * j->a->groups);
    for (size_t h = first; h < end; h++) {
        const attend_window_args args = args_of(j, h / heads, h % heads, worker);
        j->gemm->attend_window->forward(&args);
    }
}

static void backward_heads(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const size_t heads = j->a->heads, first = task * j->heads_per_task,
                 end = min_size(first + j->heads_per_task, heads * j->a->groups);
    for (size_t h = first; h < end; h++) backward_head(j, h / heads, h % heads, NULL, worker);
}

/* A range of groups: some heads of each in turn. */
static void backward_range(const job *j, size_t range, size_t first_head, size_t end_head,
                           int worker)
{
    const size_t groups = j->a->groups;
    real *dbias = j->dbias + range * j->a->heads * j->bias_size;
    memset(dbias + first_head * j->bias_size, 0,
           (end_head - first_head) * j->bias_size * sizeof(real));
    for (size_t g = groups * range / j->ranges; g < groups * (range + 1) / j->ranges; g++)
        for (size_t h = first_head; h < end_head; h++)
            backward_head(j, g, h, dbias + h * j->bias_size, worker);
}

static void backward_whole_range(void *arg, size_t range, int worker)
{
    const job *j = arg;
    backward_range(j, range, 0, j->a->heads, worker);
}

static void backward_range_head(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const size_t head = task % j->a->heads;
    backward_range(j, task / j->a->heads, head, head + 1, worker);
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void forward(const graph *g, const node *n)
{
    job j = job_of(g, n, 0);
    lay_out(&j, 0);
    if (j.a->entries) pool_run(g->context->pool, j.a->heads, lay_out_bias, &j);
    pool_run(g->context->pool, div_up_size(j.a->heads * j.a->groups, j.heads_per_task),
             forward_heads, &j);
}

static void backward(const graph *g, const node *n)
{
    job j = job_of(g, n, 1);
    const size_t heads = j.a->heads;
    lay_out(&j, 1);
    if (j.a->entries) pool_run(g->context->pool, heads, lay_out_bias, &j);
    if (!j.dbias) {
        pool_run(g->context->pool, div_up_size(heads * j.a->groups, j.heads_per_task),
                 backward_heads, &j);
        return;
    }
    if (j.ranges == RANGES)
        pool_run(g->context->pool, j.ranges, backward_whole_range, &j);
    else
        pool_run(g->context->pool, j.ranges * heads, backward_range_head, &j);
    pool_run(g->context->pool, heads, add_up_bias, &j);
}

const op op_window_attention = {.name = "window_attention",
                                .reads_in = 15,
                                .strided_in = 7,
                                .saved = saved,
                                .scratch = scratch,
                                .forward = forward,
                                .backward = backward,
                                .products = attention_products};
