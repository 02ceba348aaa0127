/* memory - decides in which order nodes run, which outputs are computed again, and packs everything
 * into one block.
 *
 * A span is a piece of memory that is in use from one step to another. Spans are placed one after
 * the other, largest first, at the lowest offset that no span placed before and alive at the same
 * time occupies. */
#include "graph/memory.h"

#include "core/status.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1, LINE = 64 };

typedef struct span {
    size_t bytes, offset;
    int first, last; /* steps; first NONE: not in use */
    int same;        /* the span whose memory this one shares, or NONE */
} span;

typedef struct ranked {
    size_t bytes;
    int span;
} ranked;

/* Spans by use: of tensor t: value [t], value computed again [T + t], gradient [2T + t]; of node n:
 * saved [3T + n], scratch in forward, again, backward [3T + N + 3n + kind]. */
typedef struct work {
    graph *g;
    memory_plan *plan;
    span *spans;
    int count;
    ranked *order; /* spans by size */
    tensor *out;
} work;

static span *value(work *w, const tensor *t) { return &w->spans[t->index]; }
static span *again(work *w, const tensor *t) { return &w->spans[w->g->tensor_count + t->index]; }
static span *gradient(work *w, const tensor *t)
{
    return &w->spans[2 * w->g->tensor_count + t->index];
}
static span *saved(work *w, const node *n) { return &w->spans[3 * w->g->tensor_count + n->index]; }
static span *scratch(work *w, const node *n, step_kind kind)
{
    return &w->spans[3 * w->g->tensor_count + w->g->node_count + 3 * n->index + (int)kind];
}

static void use(span *s, int at, size_t numbers)
{
    if (s->first == NONE) s->first = at;
    s->last = at;
    s->bytes = (numbers * sizeof(real) + LINE - 1) / LINE * LINE;
}

/* A step reads t: from the value computed again when there is one by now. */
static void read_value(work *w, const tensor *t, int at)
{
    if (!t || t->role != ROLE_VALUE) return;
    span *s = again(w, t)->first != NONE ? again(w, t) : value(w, t);
    use(s, at, t->count);
}

static int adds_grad(const node *n, int i)
{
    return n->in[i] && n->in[i]->needs_grad && n->in[i]->role == ROLE_VALUE;
}

static void append(work *w, step_kind kind, node *n)
{
    int at = w->plan->steps++;
    w->plan->step[at] = (step){kind, n, 0, 0};
    if (kind != STEP_BACKWARD) {
        for (int i = 0; i < n->inputs; i++) read_value(w, n->in[i], at);
        use(kind == STEP_AGAIN ? again(w, n->out) : value(w, n->out), at, n->out->count);
        if (n->op->saved && w->g->training) use(saved(w, n), at, n->op->saved(w->g, n));
    }
    if (n->op->scratch)
        use(scratch(w, n, kind), at, n->op->scratch(w->g, n, kind == STEP_BACKWARD));
}

/* Before a backward step: what it reads, and is cheap, is computed again (and what that needs,
 * before). */
static void bring_back(work *w, tensor *t)
{
    if (!t || t->role != ROLE_VALUE || !t->producer->op->cheap || again(w, t)->first != NONE)
        return;
    for (int i = 0; i < t->producer->inputs; i++) bring_back(w, t->producer->in[i]);
    append(w, STEP_AGAIN, t->producer);
}

static void plan_backward(work *w, node *n)
{
    for (int i = 0; i < n->inputs; i++)
        if (n->op->reads_in >> i & 1) bring_back(w, n->in[i]);
    if (n->op->reads_out) bring_back(w, n->out);
    int at = w->plan->steps;
    append(w, STEP_BACKWARD, n);
    for (int i = 0; i < n->inputs; i++)
        if (n->op->reads_in >> i & 1) read_value(w, n->in[i], at);
    if (n->op->reads_out) read_value(w, n->out, at);
    if (n->op->saved) use(saved(w, n), at, n->op->saved(w->g, n));
    use(gradient(w, n->out), at, n->out->count);
    for (int i = 0; i < n->inputs; i++) {
        if (n->in[i] && n->in[i]->needs_grad && n->in[i]->role == ROLE_PARAM) n->adds[i] = 1;
        if (!adds_grad(n, i)) continue;
        n->adds[i] = gradient(w, n->in[i])->first != NONE;
        for (int k = 0; k < i; k++) n->adds[i] |= n->in[k] == n->in[i];
        use(gradient(w, n->in[i]), at, n->in[i]->count);
    }
}

/* The span whose memory s uses in the end, its time stretched over all that share it. */
static int root_of(const work *w, int s)
{
    while (w->spans[s].same != NONE) s = w->spans[s].same;
    return s;
}

/* How often node k, running back, writes the gradient of t. */
static int writes(work *w, int k, const tensor *t)
{
    const node *n = w->g->nodes[k];
    int count = 0;
    if (!n->op->backward || gradient(w, n->out)->first == NONE) return 0;
    for (int i = 0; i < n->inputs; i++) count += n->in[i] == t;
    return count;
}

/* Whether t and m cannot have their gradients in the same memory, t's being made by node n as a
 * copy of what m's is then. A gradient lives from the first node that writes it to the one that
 * made its tensor; nobody may write the one while the other is alive. */
static int collide(work *w, const tensor *t, const node *n, const tensor *m)
{
    const int end = t->producer->index;
    int first = w->g->node_count - 1;
    while (!writes(w, first, m) && first > n->index) first--;
    for (int k = n->index - 1; k >= end; k--)
        if (writes(w, k, m) || (writes(w, k, t) && k >= m->producer->index && k <= first)) return 1;
    return 0;
}

/* An operator that hands its gradient on (add): its inputs' gradients may be the very memory of its
 * output's, and so on through a chain of them, as long as no two that share collide. That of the
 * graph's output is the caller's and stays as it is. */
static void share_gradients(work *w, node *n)
{
    const int out = 2 * w->g->tensor_count + n->out->index;
    if (n->out == w->out) return;
    for (int i = 0; i < n->inputs; i++) {
        tensor *t = n->in[i];
        if (!(n->op->passes >> i & 1) || !adds_grad(n, i) || n->adds[i]
            || writes(w, n->index, t) > 1)
            continue;
        int free = 1;
        for (int m = 0; m < w->g->tensor_count && free; m++) {
            const tensor *other = w->g->tensors[m];
            if (other == t || gradient(w, other)->first == NONE) continue;
            if (root_of(w, 2 * w->g->tensor_count + m) == root_of(w, out))
                free = !collide(w, t, n, other);
        }
        if (free) gradient(w, t)->same = out;
    }
}

static int larger_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->span - y->span;
}

static size_t place(work *w)
{
    size_t top = 0;
    for (int s = 0; s < w->count; s++) { /* stretch */
        span *root = &w->spans[root_of(w, s)], *one = &w->spans[s];
        if (one == root || one->first == NONE) continue;
        if (one->first < root->first) root->first = one->first;
        if (one->last > root->last) root->last = one->last;
    }
    int n = 0;
    for (int s = 0; s < w->count; s++)
        if (w->spans[s].first != NONE && w->spans[s].same == NONE && w->spans[s].bytes)
            w->order[n++] = (ranked){w->spans[s].bytes, s};
    qsort(w->order, (size_t)n, sizeof *w->order, larger_first);
    for (int i = 0; i < n; i++) {
        span *s = &w->spans[w->order[i].span];
        for (int moved = 1; moved;) {
            moved = 0;
            for (int k = 0; k < i; k++) {
                const span *o = &w->spans[w->order[k].span];
                if (o->last < s->first || s->last < o->first) continue;
                if (s->offset + s->bytes <= o->offset || o->offset + o->bytes <= s->offset)
                    continue;
                s->offset = o->offset + o->bytes;
                moved = 1;
            }
        }
        if (s->offset + s->bytes > top) top = s->offset + s->bytes;
    }
    return top;
}

static void record(work *w)
{
    memory_plan *p = w->plan;
    for (int i = 0; i < p->steps; i++) {
        step *s = &p->step[i];
        s->out = (s->kind == STEP_AGAIN ? again(w, s->node->out) : value(w, s->node->out))->offset;
        s->scratch = scratch(w, s->node, s->kind)->offset;
    }
    for (int t = 0; t < w->g->tensor_count; t++)
        p->grad[t] = w->spans[root_of(w, 2 * w->g->tensor_count + t)].offset;
    for (int n = 0; n < w->g->node_count; n++) p->saved[n] = saved(w, w->g->nodes[n])->offset;
}

static void plan_steps(work *w)
{
    graph *g = w->g;
    for (int i = 0; i < g->node_count; i++) append(w, STEP_FORWARD, g->nodes[i]);
    w->plan->backward = w->plan->steps;
    if (g->training && w->out->needs_grad) {
        use(gradient(w, w->out), w->plan->steps, w->out->count);
        for (int i = g->node_count - 1; i >= 0; i--) {
            node *n = g->nodes[i];
            if (!n->op->backward || !n->out->needs_grad || gradient(w, n->out)->first == NONE)
                continue;
            plan_backward(w, n);
        }
    }
    span *out = value(w, w->out);
    out->last = w->plan->steps; /* whoever runs the graph reads it afterwards */
    /* and fills its gradient before, which the step may be run again with */
    if (gradient(w, w->out)->first != NONE) {
        gradient(w, w->out)->first = 0;
        gradient(w, w->out)->last = w->plan->steps;
    }
    for (int i = g->node_count - 1; i >= 0; i--)
        if (g->nodes[i]->op->passes && gradient(w, g->nodes[i]->out)->first != NONE)
            share_gradients(w, g->nodes[i]);
}

ssm2d_status graph_finish(graph *g, tensor *out, ssm2d_error *error)
{
    if (g->status) return fail(error, g->status, "%s", g->error.line);
    for (int i = 0; i < g->node_count; i++) {
        node *n = g->nodes[i];
        ssm2d_status status = n->op->prepare ? n->op->prepare(g, n, error) : SSM2D_OK;
        if (status) return status;
    }
    const size_t T = (size_t)g->tensor_count, N = (size_t)g->node_count, spans = 3 * T + 4 * N,
                 steps = 3 * N + 1;
    const size_t bytes = sizeof(memory_plan) + steps * sizeof(step) + (T + N) * sizeof(size_t);
    work w = {.g = g, .out = out, .count = (int)spans};
    char *plan = mem_alloc(g->context, bytes);
    w.spans = mem_alloc(g->context, spans * sizeof *w.spans);
    w.order = mem_alloc(g->context, spans * sizeof *w.order);
    g->plan = plan;
    if (plan && w.spans && w.order) {
        w.plan = (memory_plan *)(void *)plan;
        w.plan->step = (step *)(void *)(plan + sizeof(memory_plan));
        w.plan->grad = (size_t *)(void *)(w.plan->step + steps);
        w.plan->saved = w.plan->grad + T;
        for (int s = 0; s < w.count; s++) w.spans[s] = (span){0, 0, NONE, NONE, NONE};
        plan_steps(&w);
        g->bytes = place(&w);
        record(&w);
        g->memory = mem_alloc(g->context, g->bytes);
    }
    mem_free(g->context, w.spans);
    mem_free(g->context, w.order);
    if (!g->memory)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for the %zu bytes of a step", g->bytes);
    for (size_t t = 0; t < T; t++)
        if (g->tensors[t]->role == ROLE_VALUE && g->tensors[t]->needs_grad)
            g->tensors[t]->grad = (real *)(void *)(g->memory + w.plan->grad[t]);
    for (size_t n = 0; n < N; n++)
        g->nodes[n]->saved = (real *)(void *)(g->memory + w.plan->saved[n]);
    return SSM2D_OK;
}
