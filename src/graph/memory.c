/* memory - plans a run: the order of visits, which outputs are recomputed instead of kept, and from
 * when to when each value, gradient and scratch is in use; place.c packs them into one block. */
#include "graph/planner.h"

#include "core/arith.h"
#include "core/status.h"

/* Spans begin and end on whole cache lines, which aligns elements of every type. */
static void use(span *s, int at, size_t bytes)
{
    if (!in_use(s)) s->first = at;
    s->last = at;
    s->bytes = line_bytes(bytes);
}

static void use_gradient(planner *p, const tensor *t, int at)
{
    use(gradient(p, t), at, t->count * sizeof(real));
}

/* Visit `at` reads t: the recomputed value when there is one by now. */
static void read_value(planner *p, tensor *t, int at)
{
    t = storage_of(t);
    if (!t || t->role != ROLE_VALUE) return;
    use(in_use(recomputed(p, t)) ? recomputed(p, t) : value(p, t), at, tensor_bytes(t));
}

static int append(planner *p, visit_kind kind, node *n)
{
    const graph *g = p->g;
    const int at = p->plan->visits++, back = kind == VISIT_BACKWARD;
    p->plan->visit[at] = (visit){.kind = kind, .node = n};
    if (!back) {
        for (int i = 0; i < n->inputs; i++) read_value(p, n->in[i], at);
        use(kind == VISIT_RECOMPUTE ? recomputed(p, n->out) : value(p, n->out), at,
            tensor_bytes(n->out));
        if (n->op->saved && g->training) use(saved(p, n), at, n->op->saved(g, n));
    }
    if (n->op->scratch) use(scratch(p, n, kind), at, n->op->scratch(g, n, back));
    return at;
}

/* Recomputes t, and what that needs before, if its node is one to be recomputed. */
static void schedule_recompute(planner *p, tensor *t)
{
    t = storage_of(t);
    if (!t || t->role != ROLE_VALUE || !t->producer->recompute || in_use(recomputed(p, t))) return;
    for (int i = 0; i < t->producer->inputs; i++) schedule_recompute(p, t->producer->in[i]);
    append(p, VISIT_RECOMPUTE, t->producer);
}

/* Clears those columns in [first, end) of t's gradient that no visit has written. */
static void schedule_clear(planner *p, node *before, tensor *t, size_t first, size_t end)
{
    int *written = &p->written[t->index];
    for (size_t gap_end; interval_gap(&p->columns, *written, &first, end, &gap_end);
         first = gap_end) {
        const int at = p->plan->visits++;
        p->plan->visit[at] =
            (visit){VISIT_CLEAR, before, .cleared = t, .first = first, .count = gap_end - first};
        use_gradient(p, t, at);
        interval_add(&p->columns, written, first, gap_end);
    }
}

/* Whether n, running backward, has to add to the gradient of in[i] because something is there. Of a
 * tensor with views, all columns in question or none are written then. */
static int adds_to_gradient(planner *p, node *n, int i)
{
    tensor *t = storage_of(n->in[i]);
    if (t->role == ROLE_PARAM) return 1;
    if (!t->views) {
        int adds = in_use(gradient(p, t));
        for (int k = 0; k < i; k++) adds |= n->in[k] == t;
        return adds;
    }
    const size_t first = n->in[i]->column, end = first + n->in[i]->shape[n->in[i]->rank - 1];
    int *written = &p->written[t->index];
    size_t gap = first, gap_end;
    const int adds =
        !interval_gap(&p->columns, *written, &gap, end, &gap_end) || gap != first || gap_end != end;
    if (adds) schedule_clear(p, n, t, first, end);
    interval_add(&p->columns, written, first, end);
    return adds;
}

static void plan_backward(planner *p, node *n)
{
    const op *o = n->op;
    for (int i = 0; i < n->inputs; i++)
        if (o->reads_in >> i & 1) schedule_recompute(p, n->in[i]);
    if (o->reads_out) schedule_recompute(p, n->out);
    if (n->out->views) schedule_clear(p, n, n->out, 0, n->out->shape[n->out->rank - 1]);
    for (int i = 0; i < n->inputs; i++)
        if (n->in[i] && n->in[i]->needs_grad) n->adds[i] = adds_to_gradient(p, n, i);
    const int at = append(p, VISIT_BACKWARD, n);
    for (int i = 0; i < n->inputs; i++)
        if (o->reads_in >> i & 1) read_value(p, n->in[i], at);
    if (o->reads_out) read_value(p, n->out, at);
    if (o->saved) use(saved(p, n), at, o->saved(p->g, n));
    use_gradient(p, n->out, at);
    for (int i = 0; i < n->inputs; i++) {
        const tensor *t = storage_of(n->in[i]);
        if (t && t->needs_grad && t->role == ROLE_VALUE) use_gradient(p, t, at);
    }
}

static void plan_visits(planner *p)
{
    graph *g = p->g;
    for (int i = 0; i < g->node_count; i++) append(p, VISIT_FORWARD, g->nodes[i]);
    p->plan->backward = p->plan->visits;
    span *dout = gradient(p, p->out);
    if (g->training && p->out->needs_grad) {
        use_gradient(p, p->out, p->plan->visits);
        if (p->out->views)
            interval_add(&p->columns, &p->written[p->out->index], 0, p->out->row_stride);
        for (int i = g->node_count - 1; i >= 0; i--) {
            node *n = g->nodes[i];
            if (n->op->backward && n->out->needs_grad && in_use(gradient(p, n->out)))
                plan_backward(p, n);
        }
    }
    value(p, p->out)->last = p->plan->visits; /* the caller reads it after the run */
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
        if (v->kind == VISIT_CLEAR) continue;
        const tensor *out = v->node->out;
        if (!v->local)
            v->out = (v->kind == VISIT_RECOMPUTE ? recomputed(p, out) : value(p, out))->offset;
        v->scratch = scratch(p, v->node, v->kind)->offset;
    }
    for (int i = 0; i < plan->chains; i++)
        plan->chain[i].memory = chain_memory(p, plan->visit[plan->chain[i].first].node)->offset;
    for (int t = 0; t < g->tensor_count; t++) plan->grad[t] = gradient(p, g->tensors[t])->offset;
    for (int n = 0; n < g->node_count; n++) plan->saved[n] = saved(p, g->nodes[n])->offset;
}

/* The plan is one piece of memory, with its arrays behind it. */
static memory_plan *new_plan(const graph *g)
{
    const size_t T = (size_t)g->tensor_count, N = (size_t)g->node_count, V = (size_t)g->view_count;
    /* v views cut a tensor into 2v + 1 pieces at most, each of which is cleared once at most */
    const size_t visits = 3 * N + 3 * V;
    char *memory =
        mem_alloc(g->context, sizeof(memory_plan) + visits * sizeof(visit)
                                  + N / 2 * sizeof(row_chain) + (T + N) * sizeof(size_t));
    if (!memory) return NULL;
    memory_plan *plan = (memory_plan *)(void *)memory;
    plan->visit = (visit *)(void *)(plan + 1);
    plan->chain = (row_chain *)(void *)(plan->visit + visits);
    plan->grad = (size_t *)(void *)(plan->chain + N / 2);
    plan->saved = plan->grad + T;
    return plan;
}

/* Small outputs are kept: they save nothing, and callers may read them (logits). So are outputs at
 * the end of a chain of more than CHAIN affordable operators: what is recomputed from what is
 * recomputed must end somewhere, or the first backward would need all of forward again. */
enum { SMALL_PART = 16, CHAIN = 2 };

/* Decides for each node of a graph that saves memory; returns 0 if out of memory. */
static int choose_recomputed(graph *g)
{
    size_t largest = 0;
    int *chain = mem_alloc(g->context, ((size_t)g->node_count + 1) * sizeof *chain);
    if (!chain) return 0;
    for (int i = 0; i < g->node_count; i++)
        largest = max_size(largest, tensor_bytes(g->nodes[i]->out));
    const size_t small = largest / (SMALL_PART * sizeof(real)) * sizeof(real);
    for (int i = 0; i < g->node_count; i++) {
        node *n = g->nodes[i];
        int before = 0;
        if (n->op->affordable && tensor_bytes(n->out) >= small) n->recompute = 1;
        for (int k = 0; k < n->inputs; k++) {
            const tensor *t = storage_of(n->in[k]);
            if (t && t->producer && t->producer->recompute)
                before = max_int(before, chain[t->producer->index]);
        }
        chain[i] = before + n->op->affordable;
        if (chain[i] > CHAIN) n->recompute = 0;
    }
    mem_free(g->context, chain);
    return 1;
}

/* Fills g->plan and g->bytes; returns 0 if out of memory. */
static int plan_memory(graph *g, tensor *out)
{
    planner p = {.g = g,
                 .out = out,
                 .span_count = 3 * g->tensor_count + 5 * g->node_count,
                 .columns = {.context = g->context}};
    p.spans = mem_alloc(g->context, (size_t)p.span_count * sizeof *p.spans);
    p.written = mem_alloc(g->context, (size_t)g->tensor_count * sizeof *p.written);
    g->plan = p.plan = new_plan(g);
    int done = 0;
    if (p.spans && p.written && p.plan) {
        for (int s = 0; s < p.span_count; s++)
            p.spans[s] = (span){.first = SPAN_NONE, .last = SPAN_NONE, .same = SPAN_NONE};
        plan_visits(&p);
        done = !p.columns.failed && share_gradients(&p) && plan_row_chains(&p)
               && place_spans(g->context, p.spans, p.span_count, p.plan->visits, &g->bytes);
        record(&p);
    }
    interval_pool_free(&p.columns);
    mem_free(g->context, p.written);
    mem_free(g->context, p.spans);
    return done;
}

static void set_pointers(graph *g)
{
    const memory_plan *plan = g->plan;
    for (int i = 0; i < g->tensor_count; i++) {
        tensor *t = g->tensors[i];
        if (t->role != ROLE_VALUE || !t->needs_grad) continue;
        t->grad = (real *)(void *)(g->memory + plan->grad[i]);
        for (tensor *v = t->views; v; v = v->next_view) v->grad = t->grad + v->column;
    }
    for (int i = 0; i < g->node_count; i++) g->nodes[i]->saved = g->memory + plan->saved[i];
}

ssm2d_status graph_finish(graph *g, tensor *out, ssm2d_error *error)
{
    if (g->status) return fail(error, g->status, "%s", g->error.line);
    if (out->role == ROLE_VIEW)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"%s\" cannot be the output of a graph: make it contiguous() before",
                    out->name);
    for (int i = 0; i < g->node_count; i++) {
        node *n = g->nodes[i];
        ssm2d_status status = n->op->prepare ? n->op->prepare(g, n, error) : SSM2D_OK;
        if (status) return status;
    }
    if ((g->saves_memory && !choose_recomputed(g)) || !plan_memory(g, out))
        return fail_memory(error, "planning a graph of %d nodes", g->node_count);
    g->memory = mem_alloc(g->context, g->bytes);
    if (!g->memory) return fail_memory(error, "%zu bytes of a step", g->bytes);
    set_pointers(g);
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < g->node_count && g->sgemm && !status; i++)
        if (g->nodes[i]->op->warm_up) status = g->nodes[i]->op->warm_up(g, g->nodes[i], error);
    return status;
}
