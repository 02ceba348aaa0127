/* planner - what graph_finish works with: the spans of memory of a graph. Internal to src/graph. */
#ifndef SSM2D_GRAPH_PLANNER_H
#define SSM2D_GRAPH_PLANNER_H

#include "graph/graph_impl.h"
#include "graph/intervals.h"

enum { SPAN_NONE = -1 };

/* A piece of memory that is in use from one visit to another, both included. */
typedef struct span {
    size_t bytes, offset;
    int first, last; /* visits; first is SPAN_NONE when it is unused */
    int same;        /* the span whose memory this one shares (which shares none), or SPAN_NONE */
} span;

/* Places the spans one after the other, the largest first, each at the lowest offset that is free
 * as long as it is alive. `last` is at most the number of visits. The result depends on the spans
 * alone. Returns 0 if out of memory; *bytes is the size of the block. */
int place_spans(const ssm2d_context *context, span *spans, int count, int visits, size_t *bytes);

/* Spans by use, T tensors and N nodes: of tensor t its value [t], the value recomputed [T + t], the
 * gradient [2T + t]; of node n what it saves [3T + n], its scratch in each kind of visit
 * [3T + N + 3n + kind], and the memory of the chain that begins with it [3T + 4N + n]. */
typedef struct planner {
    graph *g;
    memory_plan *plan;
    span *spans;
    int span_count;
    tensor *out; /* of the graph */
    /* of each tensor that has views, the columns of its gradient that are written by now */
    interval_pool columns;
    int *written;
} planner;

static inline span *value(const planner *p, const tensor *t) { return &p->spans[t->index]; }

static inline span *recomputed(const planner *p, const tensor *t)
{
    return &p->spans[p->g->tensor_count + t->index];
}

static inline span *gradient(const planner *p, const tensor *t)
{
    return &p->spans[2 * p->g->tensor_count + t->index];
}

static inline span *saved(const planner *p, const node *n)
{
    return &p->spans[3 * p->g->tensor_count + n->index];
}

static inline span *scratch(const planner *p, const node *n, visit_kind kind)
{
    return &p->spans[3 * p->g->tensor_count + p->g->node_count + 3 * n->index + (int)kind];
}

static inline span *chain_memory(const planner *p, const node *n)
{
    return &p->spans[3 * p->g->tensor_count + 4 * p->g->node_count + n->index];
}

static inline int in_use(const span *s) { return s->first != SPAN_NONE; }

/* Whether running n backward writes the gradient of in[i], which is in the block. */
static inline int writes_gradient(const planner *p, const node *n, int i)
{
    const tensor *t = storage_of(n->in[i]);
    return t && t->role == ROLE_VALUE && t->needs_grad && n->op->backward
           && in_use(gradient(p, n->out));
}

/* Lets gradients that operators hand on unchanged (op.passes) share memory where that is safe.
 * Called when the visits are planned; returns 0 if out of memory. */
int share_gradients(planner *p);

/* Finds the chains of nodes that work row by row, and puts spans of memory right for them. Called
 * when the visits are planned; returns 0 if out of memory. */
int plan_row_chains(planner *p);

#endif
