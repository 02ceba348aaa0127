/* row_chains - operators that work row by row, run one after the other on a few rows at a time.
 *
 * In inference, nodes in a row whose operators say so (op.rows) are one visit: a task takes some
 * rows through all of them. Threads meet once per chain instead of once or twice per node, and the
 * rows stay in the cache of the processor that works on them. Values that are not read outside the
 * chain have memory for the rows of one task per worker, not for all rows. A row
 * has the same bits whichever rows are in its task, so that tasks may be cut by the number of
 * threads. */
#include "graph/planner.h"

#include "core/arith.h"
#include "core/clock.h"

#include <string.h>

/* With fewer rows for each thread than ROWS_MIN, weights would be read for too few of them: linear
 * gives each thread some columns then. A task has at most ROWS_MAX rows, whose values stay in the
 * second-level cache. */
enum { ROWS_MIN = 16, ROWS_MAX = 128 };

static size_t rows_of(const tensor *t) { return t->count / t->shape[t->rank - 1]; }
static int by_rows(const node *n, int i) { return n->op->rows_in >> i & 1; }

/* ---- planning -------------------------------------------------------------------------------- */

/* Whether n can follow the nodes from `first` on. */
static int joins(const graph *g, const node *n, int first)
{
    const size_t rows = rows_of(g->nodes[first]->out);
    if (!n->op->rows || n->out->scale_count || rows_of(n->out) != rows) return 0;
    for (int i = 0; i < n->inputs; i++) {
        const tensor *t = storage_of(n->in[i]);
        if (!t) continue;
        if (by_rows(n, i) && (t->scale_count || rows_of(n->in[i]) != rows)) return 0;
        if (!by_rows(n, i) && t->producer && t->producer->index >= first) return 0;
    }
    return 1;
}

static void cut_rows(row_chain *c, size_t rows, size_t threads)
{
    c->rows = rows;
    c->blocks = threads;
    if (div_up_size(rows, threads) > ROWS_MAX)
        c->blocks = div_up_size(div_up_size(rows, ROWS_MAX), threads) * threads;
}

/* Values that live inside the chain alone get places in the memory of a worker. */
static int place_locals(planner *p, row_chain *c)
{
    const int count = c->end - c->first;
    const size_t block_rows = div_up_size(c->rows, c->blocks);
    span *locals = mem_alloc(p->g->context, (size_t)count * sizeof *locals);
    if (!locals) return 0;
    for (int i = 0; i < count; i++) {
        visit *v = &p->plan->visit[c->first + i];
        span *s = value(p, v->node->out);
        locals[i] = (span){.first = SPAN_NONE, .last = SPAN_NONE, .same = SPAN_NONE};
        if (s->last >= c->end) continue;
        v->local = 1;
        locals[i].first = s->first - c->first;
        locals[i].last = s->last - c->first;
        locals[i].bytes =
            line_bytes(block_rows * v->node->out->row_stride * element_size(v->node->out->type));
        s->first = SPAN_NONE; /* it has no memory of its own */
    }
    const int done = place_spans(p->g->context, locals, count, count, &c->worker_bytes);
    for (int i = 0; i < count; i++) p->plan->visit[c->first + i].out = locals[i].offset;
    c->times = c->worker_bytes;
    c->worker_bytes += line_bytes((size_t)count * sizeof(double));
    mem_free(p->g->context, locals);
    return done;
}

/* What is used in the chain is used during all of it, as its nodes run at the same time. */
static void stretch(planner *p, const row_chain *c)
{
    for (int i = 0; i < p->span_count; i++) {
        span *s = &p->spans[i];
        if (!in_use(s)) continue;
        if (c->first <= s->first && s->first < c->end) s->first = c->first;
        if (c->first <= s->last && s->last < c->end) s->last = c->end - 1;
    }
}

static int add_chain(planner *p, int first, int end)
{
    const graph *g = p->g;
    const size_t threads = (size_t)pool_threads(g->context->pool);
    row_chain *c = &p->plan->chain[p->plan->chains];
    *c = (row_chain){.first = first, .end = end};
    cut_rows(c, rows_of(g->nodes[first]->out), threads);
    if (!place_locals(p, c)) return 0;
    *chain_memory(p, g->nodes[first]) = (span){
        .bytes = threads * c->worker_bytes, .first = first, .last = end - 1, .same = SPAN_NONE};
    stretch(p, c);
    p->plan->visit[first].chain = ++p->plan->chains;
    return 1;
}

int plan_row_chains(planner *p)
{
    const graph *g = p->g;
    const size_t threads = (size_t)pool_threads(g->context->pool);
    if (g->training || g->one_by_one) return 1;
    for (int first = 0, end; first < g->node_count; first = end) {
        const node *n = g->nodes[first];
        end = first + 1;
        if (rows_of(n->out) < ROWS_MIN * threads || !joins(g, n, first)) continue;
        while (end < g->node_count && joins(g, g->nodes[end], first)) end++;
        if (end - first > 1 && !add_chain(p, first, end)) return 0;
    }
    return 1;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct job {
    const graph *g;
    const row_chain *chain;
    int timed;
} job;

static char *worker_memory(const job *j, int worker)
{
    return j->g->memory + j->chain->memory + (size_t)worker * j->chain->worker_bytes;
}

static double *worker_times(const job *j, int worker)
{
    return (double *)(void *)(worker_memory(j, worker) + j->chain->times);
}

static const visit *visits_of(const graph *g) { return ((const memory_plan *)g->plan)->visit; }

/* Rows of t from `row` on: those of this task if they are local to the chain. */
static void *rows_from(const job *j, const tensor *t, size_t row, int worker)
{
    const tensor *storage = t->base ? t->base : t;
    const node *n = storage->producer;
    const visit *v = n ? &visits_of(j->g)[n->index] : NULL;
    const size_t bytes = element_size(t->type);
    if (v && v->local) return worker_memory(j, worker) + v->out + (t->base ? t->column : 0) * bytes;
    return (char *)t->memory + row * t->row_stride * bytes;
}

static void run_block(void *arg, size_t task, int worker)
{
    const job *j = arg;
    const row_chain *c = j->chain;
    const size_t first = c->rows * task / c->blocks, end = c->rows * (task + 1) / c->blocks;
    for (int i = c->first; i < c->end; i++) {
        const node *n = visits_of(j->g)[i].node;
        const double start = j->timed ? clock_seconds() : 0;
        const void *in[GRAPH_INPUTS] = {0};
        for (int k = 0; k < n->inputs; k++)
            if (n->in[k])
                in[k] = by_rows(n, k) ? rows_from(j, n->in[k], first, worker) : n->in[k]->memory;
        n->op->rows(j->g, n, end - first, in, rows_from(j, n->out, first, worker));
        if (j->timed) worker_times(j, worker)[i - c->first] += clock_seconds() - start;
    }
}

/* The time of the chain is shared out by what threads have spent in each node. */
static void share_time(const job *j, double seconds, double *times)
{
    const int threads = pool_threads(j->g->context->pool), count = j->chain->end - j->chain->first;
    double all = 0;
    for (int w = 0; w < threads; w++)
        for (int i = 0; i < count; i++) all += worker_times(j, w)[i];
    for (int w = 0; all > 0 && w < threads; w++)
        for (int i = 0; i < count; i++)
            times[2 * (j->chain->first + i)] += seconds * worker_times(j, w)[i] / all;
}

void run_row_chain(graph *g, const row_chain *c, double *times)
{
    job j = {g, c, times != NULL};
    const double start = times ? clock_seconds() : 0;
    for (int w = 0; times && w < pool_threads(g->context->pool); w++)
        memset(worker_times(&j, w), 0, (size_t)(c->end - c->first) * sizeof(double));
    for (int i = c->first; i < c->end; i++) {
        node *n = visits_of(g)[i].node;
        if (n->op->before_rows) n->op->before_rows(g, n);
    }
    pool_run(g->context->pool, c->blocks, run_block, &j);
    if (times) share_time(&j, clock_seconds() - start, times);
}
