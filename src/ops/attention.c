/* attention - y = f(scale * q k^T + bias + mask) v for each group of tokens and head; f is softmax
 * over the keys, or the Laplace attention function.
 *
 * q, k: [B][..][heads*width], v, y: [B][..][heads*v_width], heads side by side; a group is T tokens
 * of an image, all of them where there is no order. Scores are never in memory as a whole: a worker
 * has a few rows of them (simd/attend.h), and softmax saves [groups][heads][T] elements for
 * backward. Tokens in an order of their own are gathered for a head, and scattered. The bias comes
 * from a table (entries, heads); for a run, each head's is laid out so that it can be read fast, in
 * one of three ways:
 *     whole      [T][T], when that is small;
 *     diagonals  the table itself, when the entry depends on key - query alone and grows with it:
 *                a row of the bias is a piece of the table;
 *     looked up  the table itself, read entry by entry.
 *
 * Forward, a task is one head of one group, or a part of its queries when there are few. Backward,
 * it is one head of one group; if the table needs its gradient, of a range of groups, with sums of
 * its own which are added up in order in the end. Tasks depend on shapes alone. */
#include "core/arith.h"
#include "ops/attention_impl.h"
#include "ops/elementwise.h"

#include <string.h>

/* Forward, a head is cut until there are enough tasks, but not into parts so small that transposing
 * k and copying v would count. */
enum { TASKS_WANTED = 12, QUERIES_MIN = 48 };
/* Backward with a bias: enough tasks for many cores, yet few sums. */
enum { BIAS_TASKS_WANTED = 32 };
enum { WHOLE_BIAS = 65536 }; /* elements of a head's bias that are still laid out whole */

typedef enum bias_layout { BIAS_NONE, BIAS_WHOLE, BIAS_DIAGONALS, BIAS_LOOKED_UP } bias_layout;

static const attention_attributes *attributes_of(const node *n) { return n->attributes; }

typedef struct job {
    const graph *g;
    const node *n;
    const gemm_table *gemm;
    bias_layout layout;
    size_t bias_size;    /* elements of a head's bias as laid out */
    size_t worker_size;  /* elements of scratch per worker */
    size_t gather_size;  /* those of them that are for gathered tokens */
    size_t query_parts;  /* of the queries of a head, forward */
    size_t ranges;       /* of groups, backward */
    real *bias, *dbias;  /* [heads][bias_size], [ranges][heads][bias_size] */
    real *worker_memory; /* [workers][worker_size] */
} job;

/* ---- memory ---------------------------------------------------------------------------------- */

static bias_layout layout_for(const attention_attributes *a)
{
    if (!a->entries) return BIAS_NONE;
    int diagonals = 1;
    for (size_t t = 1; t < a->tokens; t++)
        diagonals &= (long long)a->position[t] == (long long)a->position[t - 1] - 1;
    if (diagonals) return BIAS_DIAGONALS;
    return a->tokens <= WHOLE_BIAS / a->tokens ? BIAS_WHOLE : BIAS_LOOKED_UP;
}

static int bias_needs_grad(const node *n)
{
    return attributes_of(n)->entries && n->in[BIAS]->needs_grad;
}

static size_t ranges_of(const node *n)
{
    const attention_attributes *a = attributes_of(n);
    if (!bias_needs_grad(n)) return a->groups;
    return min_size(a->groups, div_up_size(BIAS_TASKS_WANTED, a->heads));
}

/* How the scratch is cut; returns its size. */
static size_t lay_out(job *j, int back)
{
    const node *n = j->n;
    const attention_attributes *a = attributes_of(n);
    const size_t bias = whole_lines(a->heads * j->bias_size),
                 sums = back && bias_needs_grad(n) ? whole_lines(j->ranges * bias) : 0;
    /* q, k, v and y, and all their gradients */
    const size_t gathered = 2 * (a->width + a->v_width) * (back ? 2 : 1);
    j->gather_size = a->order ? whole_lines(a->tokens * gathered) : 0;
    j->worker_size =
        j->gather_size
        + whole_lines(j->gemm->attend_scratch_size(a->tokens, a->width, a->v_width, back));
    if (n->scratch) {
        j->bias = n->scratch;
        j->dbias = sums ? j->bias + bias : NULL;
        j->worker_memory = j->bias + bias + sums;
    }
    return bias + sums + j->worker_size * (size_t)pool_threads(j->g->context->pool);
}

static job job_of(const graph *g, const node *n)
{
    const attention_attributes *a = attributes_of(n);
    job j = {.g = g,
             .n = n,
             .gemm = g->gemm ? g->gemm : gemm_for(g->context->cpu),
             .layout = layout_for(a),
             .ranges = ranges_of(n)};
    j.bias_size = j.layout == BIAS_WHOLE ? a->tokens * a->tokens : a->entries;
    return j;
}

static size_t scratch(const graph *g, const node *n, int back)
{
    job j = job_of(g, n);
    return lay_out(&j, back) * sizeof(real);
}

static size_t saved(const graph *g, const node *n)
{
    (void)g;
    const attention_attributes *a = attributes_of(n);
    return a->scores == ATTENTION_SOFTMAX ? a->groups * a->heads * a->tokens * sizeof(real) : 0;
}

/* ---- bias ------------------------------------------------------------------------------------ */

static void lay_out_bias(void *arg, size_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    const attention_attributes *a = attributes_of(j->n);
    const size_t T = attributes_of(j->n)->tokens;
    const real *table = j->n->in[BIAS]->data + head;
    real *bias = j->bias + head * j->bias_size;
    if (j->layout != BIAS_WHOLE)
        for (size_t e = 0; e < j->bias_size; e++) bias[e] = table[e * a->heads];
    else
        for (size_t i = 0; i < T; i++)
            for (size_t t = 0; t < T; t++) *bias++ = table[bias_entry(a, i, t) * a->heads];
}

/* The sums of all ranges of images, in order, go to the table's gradient. */
static void add_up_bias(void *arg, size_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    const attention_attributes *a = attributes_of(j->n);
    const size_t T = attributes_of(j->n)->tokens, part_size = a->heads * j->bias_size;
    const tensor *table = j->n->in[BIAS];
    real *dtable = table->grad + head, *sums = j->dbias + head * j->bias_size;
    if (!j->n->adds[BIAS])
        for (size_t e = head; e < table->count; e += a->heads) table->grad[e] = 0;
    for (size_t part = 1; part < j->ranges; part++)
        for (size_t e = 0; e < j->bias_size; e++) sums[e] += sums[part * part_size + e];
    if (j->layout != BIAS_WHOLE)
        for (size_t e = 0; e < j->bias_size; e++) dtable[e * a->heads] += sums[e];
    else
        for (size_t i = 0; i < T; i++)
            for (size_t t = 0; t < T; t++) dtable[bias_entry(a, i, t) * a->heads] += *sums++;
}

static void set_bias(const job *j, size_t head, attend_args *args)
{
    const attention_attributes *a = attributes_of(j->n);
    if (j->layout == BIAS_NONE) return;
    args->bias = j->bias + head * j->bias_size;
    if (j->layout == BIAS_WHOLE) {
        args->bias_row = (ptrdiff_t)attributes_of(j->n)->tokens;
    } else if (j->layout == BIAS_DIAGONALS) {
        args->bias += a->center;
        args->bias_row = -1;
    } else {
        args->position = a->position;
        args->center = a->center;
    }
}

/* ---- tokens in an order of their own --------------------------------------------------------- */

/* to[tokens][width]; padding is zeros. */
static void gather(real *to, const real *from, size_t row, const int *order, size_t tokens,
                   size_t width)
{
    for (size_t t = 0; t < tokens; t++, to += width)
        if (order[t] < 0)
            memset(to, 0, width * sizeof *to);
        else
            memcpy(to, from + (size_t)order[t] * row, width * sizeof *to);
}

static void scatter(real *to, size_t row, const real *from, const int *order, size_t tokens,
                    size_t width, int adds)
{
    for (size_t t = 0; t < tokens; t++, from += width) {
        real *at = to + (size_t)order[t] * row;
        for (size_t d = 0; order[t] >= 0 && d < width; d++) at[d] = from[d] + (adds ? at[d] : 0);
    }
}

/* The same head with its tokens in `memory`, one after the other. */
static attend_args gathered(const attend_args *a, const int *order, real *memory)
{
    const size_t T = a->tokens, w = a->width, u = a->v_width;
    attend_args to = *a;
    real *q = memory, *k = q + T * w, *v = k + T * w, *out = v + T * u, *dout = out + T * u;
    gather(q, a->q, a->q_row, order, T, w);
    gather(k, a->k, a->k_row, order, T, w);
    gather(v, a->v, a->v_row, order, T, u);
    to.q = q, to.k = k, to.v = v, to.out = out;
    to.q_row = to.k_row = w;
    to.v_row = to.out_row = u;
    if (!a->dout) return to;
    gather(out, a->out, a->out_row, order, T, u);
    gather(dout, a->dout, a->out_row, order, T, u);
    to.dout = dout;
    to.dv = a->dv ? dout + T * u : NULL;
    to.dq = a->dq ? dout + 2 * T * u : NULL;
    to.dk = a->dk ? dout + T * (2 * u + w) : NULL;
    to.dq_adds = to.dk_adds = to.dv_adds = 0;
    return to;
}

static void run_forward(const job *j, size_t group, const attend_args *a, real *memory)
{
    const int *order = group_order(attributes_of(j->n), group);
    if (!order) {
        j->gemm->attend(a);
        return;
    }
    const attend_args to = gathered(a, order, memory);
    j->gemm->attend(&to);
    scatter(a->out, a->out_row, to.out + a->first * a->v_width, order + a->first, a->end - a->first,
            a->v_width, 0);
}

static void run_backward(const job *j, size_t group, const attend_args *a, real *memory)
{
    const int *order = group_order(attributes_of(j->n), group);
    if (!order) {
        j->gemm->attend_back(a);
        return;
    }
    const attend_args to = gathered(a, order, memory);
    j->gemm->attend_back(&to);
    if (a->dq) scatter(a->dq, a->q_row, to.dq, order, a->tokens, a->width, a->dq_adds);
    if (a->dk) scatter(a->dk, a->k_row, to.dk, order, a->tokens, a->width, a->dk_adds);
    if (a->dv) scatter(a->dv, a->v_row, to.dv, order, a->tokens, a->v_width, a->dv_adds);
}

/* ---- heads ----------------------------------------------------------------------------------- */

static attend_args args_of(const job *j, size_t group, size_t head, real *memory)
{
    const node *n = j->n;
    const attention_attributes *a = attributes_of(n);
    const size_t row = group_row(n, group);
    attend_args args = {.tokens = a->tokens,
                        .first = 0,
                        .end = a->tokens,
                        .width = a->width,
                        .v_width = a->v_width,
                        .q_row = n->in[Q]->row_stride,
                        .k_row = n->in[K]->row_stride,
                        .v_row = n->in[V]->row_stride,
                        .out_row = n->out->row_stride,
                        .scale = (real)a->scale,
                        .laplace = a->scores == ATTENTION_LAPLACE,
                        .q = row_data(n->in[Q], row) + head * a->width,
                        .k = row_data(n->in[K], row) + head * a->width,
                        .v = row_data(n->in[V], row) + head * a->v_width,
                        .out = row_data(n->out, row) + head * a->v_width,
                        .mask = group_mask(a, group),
                        .scratch = memory + j->gather_size};
    if (j->g->training && !args.laplace)
        args.lse = (real *)n->saved + (group * a->heads + head) * a->tokens;
    set_bias(j, head, &args);
    return args;
}

static void forward_part(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const size_t heads = attributes_of(j->n)->heads, part = task % j->query_parts,
                 head = task / j->query_parts;
    real *memory = j->worker_memory + (size_t)worker * j->worker_size;
    attend_args args = args_of(j, head / heads, head % heads, memory);
    args.first = args.tokens * part / j->query_parts;
    args.end = args.tokens * (part + 1) / j->query_parts;
    run_forward(j, head / heads, &args, memory);
}

static void backward_head(const job *j, size_t group, size_t head, real *dbias, int worker)
{
    const node *n = j->n;
    const attention_attributes *a = attributes_of(n);
    const size_t row = group_row(n, group);
    real *memory = j->worker_memory + (size_t)worker * j->worker_size;
    attend_args args = args_of(j, group, head, memory);
    args.dout = row_grad(n->out, row) + head * a->v_width;
    args.dq = attention_gradient(n, Q, row, head * a->width);
    args.dk = attention_gradient(n, K, row, head * a->width);
    args.dv = attention_gradient(n, V, row, head * a->v_width);
    args.dq_adds = n->adds[Q];
    args.dk_adds = n->adds[K];
    args.dv_adds = n->adds[V];
    if (dbias) args.dbias = dbias + (j->layout == BIAS_DIAGONALS ? a->center : 0);
    run_backward(j, group, &args, memory);
}

static void backward_part(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const attention_attributes *a = attributes_of(j->n);
    const size_t groups = a->groups, part = task / a->heads, head = task % a->heads;
    real *dbias = j->dbias ? j->dbias + task * j->bias_size : NULL;
    if (dbias) memset(dbias, 0, j->bias_size * sizeof(real));
    for (size_t g = groups * part / j->ranges; g < groups * (part + 1) / j->ranges; g++)
        backward_head(j, g, head, dbias, worker);
}

static void forward(const graph *g, const node *n)
{
    job j = job_of(g, n);
    const attention_attributes *a = attributes_of(n);
    const size_t heads = a->groups * a->heads, max_parts = max_size(a->tokens / QUERIES_MIN, 1);
    lay_out(&j, 0);
    j.query_parts = min_size(div_up_size(TASKS_WANTED, heads), max_parts);
    if (a->entries) pool_run(g->context->pool, a->heads, lay_out_bias, &j);
    pool_run(g->context->pool, heads * j.query_parts, forward_part, &j);
}

static void backward(const graph *g, const node *n)
{
    job j = job_of(g, n);
    const attention_attributes *a = attributes_of(n);
    lay_out(&j, 1);
    if (a->entries) pool_run(g->context->pool, a->heads, lay_out_bias, &j);
    pool_run(g->context->pool, j.ranges * a->heads, backward_part, &j);
    if (j.dbias) pool_run(g->context->pool, a->heads, add_up_bias, &j);
}

const op op_attention = {.name = "attention",
                         .reads_in = 15,
                         .reads_out = 1,
                         .strided_in = 7,
                         .saved = saved,
                         .scratch = scratch,
                         .forward = forward,
                         .backward = backward,
                         .products = attention_products};
