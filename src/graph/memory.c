/* memory - plans a run: the order of visits, which outputs are recomputed instead of kept, and from
 * when to when each value, gradient and scratch is in use; place.c packs them into one block. */
#include "graph/memory.h"

#include "core/arith.h"
#include "core/status.h"
#include "graph/planner.h"

enum { LINE = 64 }; /* bytes of a cache line: spans begin and end with whole ones */

static void use(span *s, int at, size_t numbers)
{
    if (!in_use(s)) s->first = at;
    s->last = at;
    s->bytes = div_up_size(numbers * sizeof(real), LINE) * LINE;
}

/* Visit `at` reads t: the recomputed value when there is one by now. */
static void read_value(planner *p, const tensor *t, int at)
{
    if (!t || t->role != ROLE_VALUE) return;
    use(in_use(recomputed(p, t)) ? recomputed(p, t) : value(p, t), at, t->count);
}

static int append(planner *p, visit_kind kind, node *n)
{
    const graph *g = p->g;
    const int at = p->plan->visits++, back = kind == VISIT_BACKWARD;
    p->plan->visit[at] = (visit){.kind = kind, .node = n};
    if (!back) {
        for (int i = 0; i < n->inputs; i++) read_value(p, n->in[i], at);
        use(kind == VISIT_RECOMPUTE ? recomputed(p, n->out) : value(p, n->out), at, n->out->count);
        if (n->op->saved && g->training) use(saved(p, n), at, n->op->saved(g, n));
    }
    if (n->op->scratch) use(scratch(p, n, kind), at, n->op->scratch(g, n, back));
    return at;
}

/* Recomputes t, and what that needs before, if t comes from a cheap operator. */
static void schedule_recompute(planner *p, const tensor *t)
{
    if (!t || t->role != ROLE_VALUE || !t->producer->op->cheap || in_use(recomputed(p, t))) return;
    for (int i = 0; i < t->producer->inputs; i++) schedule_recompute(p, t->producer->in[i]);
    append(p, VISIT_RECOMPUTE, t->producer);
}

static void plan_backward(planner *p, node *n)
{
    const op *o = n->op;
    for (int i = 0; i < n->inputs; i++)
        if (o->reads_in >> i & 1) schedule_recompute(p, n->in[i]);
    if (o->reads_out) schedule_recompute(p, n->out);
    const int at = append(p, VISIT_BACKWARD, n);
    for (int i = 0; i < n->inputs; i++)
        if (o->reads_in >> i & 1) read_value(p, n->in[i], at);
    if (o->reads_out) read_value(p, n->out, at);
    if (o->saved) use(saved(p, n), at, o->saved(p->g, n));
    use(gradient(p, n->out), at, n->out->count);
    for (int i = 0; i < n->inputs; i++) {
        tensor *t = n->in[i];
        if (!t || !t->needs_grad) continue;
        n->adds[i] = t->role == ROLE_PARAM || in_use(gradient(p, t));
        if (t->role == ROLE_VALUE) use(gradient(p, t), at, t->count);
    }
}

static void plan_visits(planner *p)
{
    graph *g = p->g;
    for (int i = 0; i < g->node_count; i++) append(p, VISIT_FORWARD, g->nodes[i]);
    p->plan->backward = p->plan->visits;
    span *dout = gradient(p, p->out);
    if (g->training && p->out->needs_grad) {
        use(dout, p->plan->visits, p->out->count);
        for (int i = g->node_count - 1; i >= 0; i--) {
            node *n = g->nodes[i];
            if (n->op->backward && n->out->needs_grad && in_use(gradient(p, n->out)))
                plan_backward(p, n);
        }
    }
    value(p, p->out)->last = p->plan->visits; /* whoever runs the graph reads it afterwards */
    if (in_use(dout)) { /* and fills its gradient before, with which backward may be run again */
        dout->first = 0;
        dout->last = p->plan->visits;
    }
}

static void record(planner *p)
{
    const graph *g = p->g;
    memory_plan *plan = p->plan;
    for (int i = 0; i < plan->visits; i++) {
        visit *v = &plan->visit[i];
        const tensor *out = v->node->out;
        v->out = (v->kind == VISIT_RECOMPUTE ? recomputed(p, out) : value(p, out))->offset;
        v->scratch = scratch(p, v->node, v->kind)->offset;
    }
    for (int t = 0; t < g->tensor_count; t++) plan->grad[t] = gradient(p, g->tensors[t])->offset;
    for (int n = 0; n < g->node_count; n++) plan->saved[n] = saved(p, g->nodes[n])->offset;
}

/* The plan is one piece of memory, with its arrays behind it. */
static memory_plan *new_plan(const graph *g)
{
    const size_t T = (size_t)g->tensor_count, N = (size_t)g->node_count, visits = 3 * N;
    char *memory = mem_alloc(g->context, sizeof(memory_plan) + visits * sizeof(visit)
                                             + (T + N) * sizeof(size_t));
    if (!memory) return NULL;
    memory_plan *plan = (memory_plan *)(void *)memory;
    plan->visit = (visit *)(void *)(plan + 1);
    plan->grad = (size_t *)(void *)(plan->visit + visits);
    plan->saved = plan->grad + T;
    return plan;
}

/* Fills g->plan and g->bytes; 0 without memory. */
static int plan_memory(graph *g, tensor *out)
{
    planner p = {.g = g, .out = out, .span_count = 3 * g->tensor_count + 4 * g->node_count};
    p.spans = mem_alloc(g->context, (size_t)p.span_count * sizeof *p.spans);
    g->plan = p.plan = new_plan(g);
    int done = 0;
    if (p.spans && p.plan) {
        for (int s = 0; s < p.span_count; s++)
            p.spans[s] = (span){.first = SPAN_NONE, .last = SPAN_NONE, .same = SPAN_NONE};
        plan_visits(&p);
        done = share_gradients(&p)
               && place_spans(g->context, p.spans, p.span_count, p.plan->visits, &g->bytes);
        record(&p);
    }
    mem_free(g->context, p.spans);
    return done;
}

ssm2d_status graph_finish(graph *g, tensor *out, ssm2d_error *error)
{
    if (g->status) return fail(error, g->status, "%s", g->error.line);
    for (int i = 0; i < g->node_count; i++) {
        node *n = g->nodes[i];
        ssm2d_status status = n->op->prepare ? n->op->prepare(g, n, error) : SSM2D_OK;
        if (status) return status;
    }
    if (!plan_memory(g, out))
        return fail(error, SSM2D_ERROR_MEMORY, "no memory to plan a graph of %d nodes",
                    g->node_count);
    g->memory = mem_alloc(g->context, g->bytes);
    if (!g->memory)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for the %zu bytes of a step", g->bytes);
    const memory_plan *plan = g->plan;
    for (int t = 0; t < g->tensor_count; t++)
        if (g->tensors[t]->role == ROLE_VALUE && g->tensors[t]->needs_grad)
            g->tensors[t]->grad = (real *)(void *)(g->memory + plan->grad[t]);
    for (int n = 0; n < g->node_count; n++)
        g->nodes[n]->saved = (real *)(void *)(g->memory + plan->saved[n]);
    return SSM2D_OK;
}
