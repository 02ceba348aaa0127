/* attention - y = f(scale * q k^T + bias + mask) v for each image and head; f is softmax over the
 * keys, or the Laplace attention function.
 *
 * q, k: [B][T][heads*width], v, y: [B][T][heads*v_width], heads side by side. Scores are never in
 * memory as a whole: a worker has a few rows of them (simd/attend.h), and softmax saves
 * [B][heads][T] numbers for backward. The bias comes from a table (entries, heads); for a run, each
 * head's is laid out so that it can be read fast, in one of three ways:
 *     whole      [T][T], when that is small;
 *     diagonals  the table itself, when the entry depends on key - query alone and grows with it:
 *                a row of the bias is a piece of the table;
 *     looked up  the table itself, read entry by entry.
 *
 * Forward, a task is one head of one image, or a part of its queries when there are few. Backward,
 * it is one head of one image; if the table needs its gradient, of a range of images, with sums of
 * its own which are added up in order in the end. Tasks depend on shapes alone. */
#include "core/arith.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

#include <math.h>
#include <string.h>

enum { Q, K, V, BIAS };

/* Forward, a head is cut until there are enough tasks, but not into parts so small that transposing
 * k and copying v would count. */
enum { TASKS_WANTED = 12, QUERIES_MIN = 48 };
/* Backward with a bias: enough tasks for many cores, yet few sums. */
enum { BIAS_TASKS_WANTED = 32 };
enum { WHOLE_BIAS = 65536 }; /* numbers of a head's bias that are still laid out whole */

typedef enum bias_layout { BIAS_NONE, BIAS_WHOLE, BIAS_DIAGONALS, BIAS_LOOKED_UP } bias_layout;

typedef struct attention_attributes {
    size_t heads, width, v_width;
    double scale;
    attention_scores scores;
    bias_layout bias;
    size_t bias_size;    /* numbers of a head's bias as laid out */
    const int *position; /* [T], behind this struct */
    int center;
    const real *mask; /* [groups][T][T], behind this struct, or NULL */
    size_t groups;
} attention_attributes;

static const attention_attributes *attributes_of(const node *n) { return n->attributes; }
static size_t tokens_of(const node *n) { return n->out->shape[1]; }
static size_t images_of(const node *n) { return n->out->shape[0]; }

typedef struct job {
    const graph *g;
    const node *n;
    const simd_ops *simd;
    size_t worker_size;  /* numbers of scratch for a worker */
    size_t query_parts;  /* of the queries of a head, forward */
    size_t image_parts;  /* ranges of images, backward */
    real *bias, *dbias;  /* [heads][bias_size], [image_parts][heads][bias_size] */
    real *worker_memory; /* [workers][worker_size] */
} job;

/* ---- memory ---------------------------------------------------------------------------------- */

static int bias_needs_grad(const node *n)
{
    return attributes_of(n)->bias != BIAS_NONE && n->in[BIAS]->needs_grad;
}

static size_t image_parts_of(const node *n)
{
    if (!bias_needs_grad(n)) return images_of(n);
    return min_size(images_of(n), div_up_size(BIAS_TASKS_WANTED, attributes_of(n)->heads));
}

static size_t whole_lines(size_t numbers) { return div_up_size(numbers, 16) * 16; }

/* How the scratch is cut; returns its size. */
static size_t lay_out(job *j, int back)
{
    const node *n = j->n;
    const attention_attributes *a = attributes_of(n);
    const size_t bias = whole_lines(a->heads * a->bias_size),
                 sums = back && bias_needs_grad(n) ? whole_lines(j->image_parts * bias) : 0;
    j->worker_size =
        whole_lines(j->simd->attend_scratch_size(tokens_of(n), a->width, a->v_width, back));
    if (n->scratch) {
        j->bias = n->scratch;
        j->dbias = sums ? j->bias + bias : NULL;
        j->worker_memory = j->bias + bias + sums;
    }
    return bias + sums + j->worker_size * (size_t)pool_threads(j->g->context->pool);
}

static job job_of(const graph *g, const node *n)
{
    return (job){
        .g = g, .n = n, .simd = simd_ops_for(g->context->cpu), .image_parts = image_parts_of(n)};
}

static size_t scratch(const graph *g, const node *n, int back)
{
    job j = job_of(g, n);
    return lay_out(&j, back);
}

static size_t saved(const graph *g, const node *n)
{
    (void)g;
    const attention_attributes *a = attributes_of(n);
    return a->scores == ATTENTION_SOFTMAX ? images_of(n) * a->heads * tokens_of(n) : 0;
}

/* ---- bias ------------------------------------------------------------------------------------ */

static size_t entry_of(const attention_attributes *a, size_t query, size_t key)
{
    return (size_t)(a->center + a->position[query] - a->position[key]);
}

static void lay_out_bias(void *arg, size_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    const attention_attributes *a = attributes_of(j->n);
    const size_t T = tokens_of(j->n);
    const real *table = j->n->in[BIAS]->data + head;
    real *bias = j->bias + head * a->bias_size;
    if (a->bias != BIAS_WHOLE)
        for (size_t e = 0; e < a->bias_size; e++) bias[e] = table[e * a->heads];
    else
        for (size_t i = 0; i < T; i++)
            for (size_t t = 0; t < T; t++) *bias++ = table[entry_of(a, i, t) * a->heads];
}

/* The sums of all ranges of images, in order, go to the table's gradient. */
static void add_up_bias(void *arg, size_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    const attention_attributes *a = attributes_of(j->n);
    const size_t T = tokens_of(j->n), part_size = a->heads * a->bias_size;
    const tensor *table = j->n->in[BIAS];
    real *dtable = table->grad + head, *sums = j->dbias + head * a->bias_size;
    if (!j->n->adds[BIAS])
        for (size_t e = head; e < table->count; e += a->heads) table->grad[e] = 0;
    for (size_t part = 1; part < j->image_parts; part++)
        for (size_t e = 0; e < a->bias_size; e++) sums[e] += sums[part * part_size + e];
    if (a->bias != BIAS_WHOLE)
        for (size_t e = 0; e < a->bias_size; e++) dtable[e * a->heads] += sums[e];
    else
        for (size_t i = 0; i < T; i++)
            for (size_t t = 0; t < T; t++) dtable[entry_of(a, i, t) * a->heads] += *sums++;
}

static void set_bias(const job *j, size_t head, attend_args *args)
{
    const attention_attributes *a = attributes_of(j->n);
    if (a->bias == BIAS_NONE) return;
    args->bias = j->bias + head * a->bias_size;
    if (a->bias == BIAS_WHOLE) {
        args->bias_row = (ptrdiff_t)tokens_of(j->n);
    } else if (a->bias == BIAS_DIAGONALS) {
        args->bias += a->center;
        args->bias_row = -1;
    } else {
        args->position = a->position;
        args->center = a->center;
    }
}

/* ---- heads ----------------------------------------------------------------------------------- */

static attend_args args_of(const job *j, size_t image, size_t head, int worker)
{
    const node *n = j->n;
    const attention_attributes *a = attributes_of(n);
    const size_t T = tokens_of(n), row = image * T;
    attend_args args = {.tokens = T,
                        .first = 0,
                        .end = T,
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
                        .mask = a->mask ? a->mask + image % a->groups * T * T : NULL,
                        .scratch = j->worker_memory + (size_t)worker * j->worker_size};
    if (j->g->training && !args.laplace) args.lse = n->saved + (image * a->heads + head) * T;
    set_bias(j, head, &args);
    return args;
}

static void forward_part(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const size_t heads = attributes_of(j->n)->heads, part = task % j->query_parts,
                 head = task / j->query_parts;
    attend_args args = args_of(j, head / heads, head % heads, worker);
    args.first = args.tokens * part / j->query_parts;
    args.end = args.tokens * (part + 1) / j->query_parts;
    j->simd->attend(&args);
}

static real *gradient_of(const node *n, int i, size_t row, size_t column)
{
    return n->in[i]->needs_grad ? row_grad(n->in[i], row) + column : NULL;
}

static void backward_head(const job *j, size_t image, size_t head, real *dbias, int worker)
{
    const node *n = j->n;
    const attention_attributes *a = attributes_of(n);
    const size_t row = image * tokens_of(n);
    attend_args args = args_of(j, image, head, worker);
    args.dout = row_grad(n->out, row) + head * a->v_width;
    args.dq = gradient_of(n, Q, row, head * a->width);
    args.dk = gradient_of(n, K, row, head * a->width);
    args.dv = gradient_of(n, V, row, head * a->v_width);
    args.dq_adds = n->adds[Q];
    args.dk_adds = n->adds[K];
    args.dv_adds = n->adds[V];
    if (dbias) args.dbias = dbias + (a->bias == BIAS_DIAGONALS ? a->center : 0);
    j->simd->attend_back(&args);
}

static void backward_part(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const attention_attributes *a = attributes_of(j->n);
    const size_t images = images_of(j->n), part = task / a->heads, head = task % a->heads;
    real *dbias = j->dbias ? j->dbias + task * a->bias_size : NULL;
    if (dbias) memset(dbias, 0, a->bias_size * sizeof(real));
    for (size_t b = images * part / j->image_parts; b < images * (part + 1) / j->image_parts; b++)
        backward_head(j, b, head, dbias, worker);
}

static void forward(const graph *g, const node *n)
{
    job j = job_of(g, n);
    const attention_attributes *a = attributes_of(n);
    const size_t heads = images_of(n) * a->heads,
                 max_parts = max_size(tokens_of(n) / QUERIES_MIN, 1);
    lay_out(&j, 0);
    j.query_parts = min_size(div_up_size(TASKS_WANTED, heads), max_parts);
    if (a->bias != BIAS_NONE) pool_run(g->context->pool, a->heads, lay_out_bias, &j);
    pool_run(g->context->pool, heads * j.query_parts, forward_part, &j);
}

static void backward(const graph *g, const node *n)
{
    job j = job_of(g, n);
    const attention_attributes *a = attributes_of(n);
    lay_out(&j, 1);
    if (a->bias != BIAS_NONE) pool_run(g->context->pool, a->heads, lay_out_bias, &j);
    pool_run(g->context->pool, j.image_parts * a->heads, backward_part, &j);
    if (j.dbias) pool_run(g->context->pool, a->heads, add_up_bias, &j);
}

static double products(const node *n, int back)
{
    const attention_attributes *a = attributes_of(n);
    const double scores =
        (double)(images_of(n) * a->heads) * (double)tokens_of(n) * (double)tokens_of(n);
    const double q = (double)a->width, v = (double)a->v_width;
    return scores * (back ? 3 * q + 2 * v : q + v);
}

const op op_attention = {.name = "attention",
                         .reads_in = 15,
                         .reads_out = 1,
                         .strided_in = 7,
                         .saved = saved,
                         .scratch = scratch,
                         .forward = forward,
                         .backward = backward,
                         .products = products};

/* ---- building -------------------------------------------------------------------------------- */

static int check_shapes(graph *g, const tensor *q, const tensor *k, const tensor *v,
                        const attention_options *o)
{
    char one[64], two[64], three[64];
    const size_t heads = o->heads < 1 ? 1 : (size_t)o->heads;
    if (o->heads < 1 || q->rank != 3 || v->rank != 3 || !same_shape(q, k)
        || q->shape[0] != v->shape[0] || q->shape[1] != v->shape[1] || q->shape[2] % heads
        || v->shape[2] % heads) {
        graph_fail(g,
                   "attention: q %s, k %s and v %s are not (batch, tokens, channels) for %d heads",
                   shape_text(q, one), shape_text(k, two), shape_text(v, three), o->heads);
        return 0;
    }
    /* a head of the one would write what belongs to another head of the other */
    if (columns_overlap(q, k) || columns_overlap(q, v) || columns_overlap(k, v)) {
        graph_fail(g, "attention: columns of q, k and v overlap");
        return 0;
    }
    return 1;
}

static int check_bias(graph *g, size_t tokens, const attention_options *o)
{
    if (!o->bias) return 1;
    char one[64];
    const size_t heads = (size_t)o->heads, entries = o->bias->count / heads;
    if (o->bias->count % heads || (heads > 1 && last_axis(o->bias) != heads) || !o->position) {
        graph_fail(g, "attention: a bias %s is not (entries, %d heads) with positions",
                   shape_text(o->bias, one), o->heads);
        return 0;
    }
    int low = o->position[0], high = low;
    for (size_t t = 1; t < tokens; t++) {
        low = min_int(low, o->position[t]);
        high = max_int(high, o->position[t]);
    }
    const long long reach = (long long)high - low;
    if (o->center < reach || o->center + reach >= (long long)entries) {
        graph_fail(g, "attention: entries %lld to %lld of a bias that has %zu", o->center - reach,
                   o->center + reach, entries);
        return 0;
    }
    return 1;
}

static int check_mask(graph *g, size_t images, size_t tokens, const attention_options *o)
{
    if (!o->mask) return 1;
    if (o->groups < 1 || images % (size_t)o->groups) {
        graph_fail(g, "attention: %zu images cannot have the masks of %d groups in turn", images,
                   o->groups);
        return 0;
    }
    for (size_t i = 0; i < (size_t)o->groups * tokens * tokens; i++)
        if (!isfinite(o->mask[i])) {
            graph_fail(g, "attention: a mask holds %g; use a large negative number", o->mask[i]);
            return 0;
        }
    return 1;
}

static bias_layout layout_for(const attention_options *o, size_t tokens)
{
    if (!o->bias) return BIAS_NONE;
    int diagonals = 1;
    for (size_t t = 1; t < tokens; t++)
        diagonals &= (long long)o->position[t] == (long long)o->position[t - 1] - 1;
    if (diagonals) return BIAS_DIAGONALS;
    return tokens <= WHOLE_BIAS / tokens ? BIAS_WHOLE : BIAS_LOOKED_UP;
}

/* The numbers of the mask and the positions stand behind the struct, in the node's memory. */
static void fill_attributes(attention_attributes *a, const attention_options *o, const tensor *q,
                            const tensor *v)
{
    const size_t T = q->shape[1], heads = (size_t)o->heads,
                 masked = o->mask ? (size_t)o->groups * T * T : 0;
    real *mask = (real *)(void *)(a + 1);
    int *position = (int *)(void *)(mask + masked);
    *a = (attention_attributes){.heads = heads,
                                .width = last_axis(q) / heads,
                                .v_width = last_axis(v) / heads,
                                .scale = o->scale,
                                .scores = o->scores,
                                .bias = layout_for(o, T),
                                .position = position,
                                .center = o->center,
                                .mask = masked ? mask : NULL,
                                .groups = masked ? (size_t)o->groups : 1};
    if (a->scale == 0) a->scale = (double)(1 / (real)sqrt((double)a->width));
    if (o->bias) a->bias_size = a->bias == BIAS_WHOLE ? T * T : o->bias->count / heads;
    for (size_t i = 0; i < masked; i++) mask[i] = (real)o->mask[i];
    if (o->bias) memcpy(position, o->position, T * sizeof *position);
}

tensor *attention_of(graph *g, tensor *q, tensor *k, tensor *v, const attention_options *o)
{
    if (g->status || !check_shapes(g, q, k, v, o)) return NULL;
    const size_t B = q->shape[0], T = q->shape[1];
    if (!check_bias(g, T, o) || !check_mask(g, B, T, o)) return NULL;
    const size_t masked = o->mask ? (size_t)o->groups * T * T : 0;
    const size_t bytes =
        sizeof(attention_attributes) + masked * sizeof(real) + (o->bias ? T * sizeof(int) : 0);
    node *n = graph_add(g, &op_attention, o->bias ? 4 : 3, (tensor *[]){q, k, v, o->bias}, 3,
                        v->shape, NULL, bytes);
    if (!n) return NULL;
    fill_attributes(n->attributes, o, q, v);
    return n->out;
}

tensor *attention(graph *g, tensor *qkv, int heads)
{
    char one[64];
    if (g->status) return NULL;
    if (qkv->rank != 3 || heads < 1 || qkv->shape[2] % (3 * (size_t)heads))
        return graph_fail(g, "attention: %s is not (batch, tokens, 3 * channels) for %d heads",
                          shape_text(qkv, one), heads);
    const size_t D = qkv->shape[2] / 3;
    tensor *q = columns(g, qkv, 0, D), *k = columns(g, qkv, D, D), *v = columns(g, qkv, 2 * D, D);
    return attention_of(g, q, k, v, &(attention_options){.heads = heads});
}
