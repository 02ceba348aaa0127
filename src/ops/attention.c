/* attention - y = softmax(q k^T / sqrt(D/heads)) v for each image and head.
 *
 * qkv: [B][T][3*D], row = which*D + head*(D/heads) + d; y: [B][T][D]. Saved: [B][heads][T], log of
 * the sum of exponentials of each row of scores. A task is one head of one image, of few images a
 * part of its queries, and writes only what is its own. */
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

typedef struct job {
    const graph *g;
    const node *n;
    const simd_ops *simd;
    size_t room;  /* numbers of scratch for a worker */
    size_t parts; /* of the queries of a head */
} job;

/* Forward, a head is cut until there are enough tasks, but not into parts so small that turning k
 * and v would count. */
enum { TASKS_WANTED = 12, PART_LEAST = 48 };

typedef struct attention_attributes {
    size_t heads;
} attention_attributes;

static const attention_attributes *attributes_of(const node *n) { return n->attributes; }

static size_t heads_of(const node *n) { return attributes_of(n)->heads; }
static size_t width_of(const node *n) { return last_axis(n->out) / heads_of(n); }

static size_t saved(const graph *g, const node *n)
{
    (void)g;
    return n->out->count / width_of(n);
}

/* For one worker, in whole cache lines. */
static size_t room(const graph *g, const node *n, int back)
{
    return (simd_ops_for(g->context->cpu)->attend_scratch_size(n->out->shape[1], width_of(n), back)
            + 15)
           / 16 * 16;
}

static size_t scratch(const graph *g, const node *n, int back)
{
    return room(g, n, back) * (size_t)pool_threads(g->context->pool);
}

static attend_args head(const job *j, size_t task, int worker)
{
    const node *n = j->n;
    const size_t D = last_axis(n->out), T = n->out->shape[1], b = task / heads_of(n),
                 at = task % heads_of(n) * width_of(n);
    const real *q = n->in[0]->data + b * T * 3 * D + at;
    real *out = n->out->data + b * T * D + at,
         *scratch_here = n->scratch + (size_t)worker * j->room;
    return (attend_args){.tokens = T,
                         .first = 0,
                         .end = T,
                         .width = width_of(n),
                         .row = 3 * D,
                         .out_row = D,
                         .q = q,
                         .k = q + D,
                         .v = q + 2 * D,
                         .out = out,
                         .lse = j->g->training ? n->saved + task * T : NULL,
                         .scratch = scratch_here};
}

static void forward_head(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const size_t part = task % j->parts;
    attend_args a = head(j, task / j->parts, worker);
    a.first = a.tokens * part / j->parts;
    a.end = a.tokens * (part + 1) / j->parts;
    j->simd->attend(&a);
}

static void backward_head(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const node *n = j->n;
    attend_args a = head(j, task, worker);
    a.dout = n->out->grad + (a.out - n->out->data);
    a.dq = n->in[0]->grad + (a.q - n->in[0]->data);
    a.dk = a.dq + a.out_row;
    a.dv = a.dk + a.out_row;
    a.adds = n->adds[0];
    j->simd->attend_back(&a);
}

static void run(const graph *g, const node *n, int back)
{
    const size_t heads = n->out->shape[0] * heads_of(n), most = n->out->shape[1] / PART_LEAST;
    size_t parts = back ? 1 : (TASKS_WANTED + heads - 1) / heads;
    if (parts > most) parts = most ? most : 1;
    job j = {g, n, simd_ops_for(g->context->cpu), room(g, n, back), parts};
    pool_run(g->context->pool, heads * parts, back ? backward_head : forward_head, &j);
}

static void forward(const graph *g, const node *n) { run(g, n, 0); }
static void backward(const graph *g, const node *n) { run(g, n, 1); }

static double products(const node *n, int back)
{
    return (double)n->out->count * (double)n->out->shape[1] * (back ? 5 : 2);
}

const op op_attention = {.name = "attention",
                         .reads_in = 1,
                         .reads_out = 1,
                         .saved = saved,
                         .scratch = scratch,
                         .forward = forward,
                         .backward = backward,
                         .products = products};

tensor *attention(graph *g, tensor *qkv, int heads)
{
    char one[64];
    if (g->status) return NULL;
    if (qkv->rank != 3 || heads < 1 || qkv->shape[2] % (3 * (size_t)heads))
        return graph_fail(g, "attention: %s is not (batch, tokens, 3 * channels) for %d heads",
                          shape_text(qkv, one), heads);
    const size_t shape[] = {qkv->shape[0], qkv->shape[1], qkv->shape[2] / 3};
    const attention_attributes a = {(size_t)heads};
    node *n = graph_add(g, &op_attention, 1, &qkv, 3, shape, &a, sizeof a);
    return n ? n->out : NULL;
}
