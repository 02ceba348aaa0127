/* graph_run - makes the planned visits; before each, the node is told where its memory is. */
#include "core/clock.h"
#include "core/float_mode.h"
#include "graph/graph_impl.h"

#include <math.h>
#include <string.h>

void graph_bind(graph *g, real *params, real *grads)
{
    for (int i = 0; i < g->tensor_count; i++) {
        tensor *t = g->tensors[i];
        if (t->role != ROLE_PARAM) continue;
        tensor_place(t, params + t->offset);
        t->grad = grads ? grads + t->offset : NULL;
        for (tensor *v = t->views; v; v = v->next_view)
            v->grad = t->grad ? t->grad + v->column : NULL;
    }
}

void point_views(const tensor *t)
{
    for (tensor *v = t->views; v; v = v->next_view) {
        v->memory = (char *)t->memory + v->column * element_size(t->type);
        v->scales = t->scales;
    }
}

/* Values' views are pointed at each visit; inputs and parameters are where the caller has put
 * them. */
static void point_given_views(const graph *g)
{
    for (int i = 0; g->view_count && i < g->tensor_count; i++)
        if (g->tensors[i]->role != ROLE_VALUE && g->tensors[i]->views) point_views(g->tensors[i]);
}

static void clear_columns(const tensor *t, size_t first, size_t count)
{
    for (size_t at = first; at < t->count; at += t->row_stride)
        memset(t->grad + at, 0, count * sizeof(real));
}

/* Tells the node where its memory is in this visit. */
static void point_node(graph *g, const visit *v)
{
    node *n = v->node;
    n->scratch = g->memory + v->scratch;
    n->recomputing = v->kind == VISIT_RECOMPUTE;
    if (v->kind == VISIT_BACKWARD) return;
    tensor_place(n->out, v->local ? NULL : g->memory + v->out);
    if (!v->local) point_views(n->out);
}

static void make_visit(graph *g, const visit *v)
{
    node *n = v->node;
    if (v->kind == VISIT_CLEAR) {
        clear_columns(v->cleared, v->first, v->count);
        return;
    }
    point_node(g, v);
    if (v->kind == VISIT_BACKWARD)
        n->op->backward(g, n);
    else
        n->op->forward(g, n);
}

/* Makes visit i, or all visits of the chain that begins with it; returns the one that follows. */
static int make_visits(graph *g, int i)
{
    const memory_plan *p = g->plan;
    const visit *v = &p->visit[i];
    if (p->watch) p->watch(p->watch_arg, v->node, v->kind != VISIT_FORWARD);
    if (v->chain) {
        const row_chain *c = &p->chain[v->chain - 1];
        for (int k = c->first; k < c->end; k++) point_node(g, &p->visit[k]);
        run_row_chain(g, c, p->times);
        return c->end;
    }
    const double start = p->times ? clock_seconds() : 0;
    make_visit(g, v);
    if (p->times)
        p->times[2 * v->node->index + (v->kind != VISIT_FORWARD)] += clock_seconds() - start;
    return i + 1;
}

static void run(graph *g, int first, int end)
{
    const memory_plan *p = g->plan;
    const float_mode before = float_mode_set();
    for (int i = first; i < end;) {
        i = make_visits(g, i);
        if (g->after_visit && g->after_visit(g->after_visit_user, i - 1)) break;
    }
    float_mode_restore(before);
    if (p->watch) p->watch(p->watch_arg, NULL, 0);
}

void graph_forward(graph *g)
{
    const memory_plan *p = g->plan;
    point_given_views(g);
    run(g, 0, p->backward);
}

void graph_backward(graph *g)
{
    const memory_plan *p = g->plan;
    run(g, p->backward, p->visits);
}

int graph_last_gradient(const graph *g, size_t first, size_t count)
{
    const memory_plan *p = g->plan;
    for (int i = p->visits - 1; i >= p->backward; i--) {
        const node *n = p->visit[i].node;
        for (int k = 0; p->visit[i].kind == VISIT_BACKWARD && k < n->inputs; k++) {
            const tensor *t = storage_of(n->in[k]);
            if (t && t->role == ROLE_PARAM && t->offset < first + count
                && first < t->offset + t->count)
                return i;
        }
    }
    return -1;
}

void graph_time(graph *g, double *times)
{
    memory_plan *p = g->plan;
    p->times = times;
}

void graph_watch(graph *g, graph_watcher *watch, void *arg)
{
    memory_plan *p = g->plan;
    p->watch = watch;
    p->watch_arg = arg;
}

static int bad_reals(const real *elements, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(elements[i])) return 1;
    return 0;
}

static int bad_bfloat16s(const bfloat16 *elements, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((elements[i] & 0x7f80) == 0x7f80) return 1;
    return 0;
}

/* Whether t's gradient holds a NaN or an infinity. */
static int bad_gradient(const tensor *t)
{
    const size_t width = t->shape[t->rank - 1], rows = t->count / width;
    for (size_t r = 0; t->grad && r < rows; r++)
        if (bad_reals(t->grad + r * t->row_stride, width)) return 1;
    return 0;
}

/* Whether t's data do. */
static int bad_data(const tensor *t)
{
    const size_t width = t->shape[t->rank - 1], rows = t->count / width;
    if (!t->memory) return 0;
    if (t->type == ELEMENT_INT8) return bad_reals(t->scales, t->scale_count);
    for (size_t r = 0; r < rows; r++)
        if (t->type == ELEMENT_BFLOAT16 ? bad_bfloat16s(t->bf16 + r * t->row_stride, width)
                                        : bad_reals(t->data + r * t->row_stride, width))
            return 1;
    return 0;
}

const char *graph_find_bad(graph *g)
{
    const memory_plan *p = g->plan;
    for (int i = 0; i < g->tensor_count; i++)
        if (g->tensors[i]->role == ROLE_PARAM && g->tensors[i]->grad)
            memset(g->tensors[i]->grad, 0, g->tensors[i]->count * sizeof(real));
    for (int i = 0; i < g->tensor_count; i++) {
        const tensor *t = g->tensors[i];
        /* in training nothing reads state, which the run that failed may have written */
        const int is_read = t->role == ROLE_PARAM ? t->needs_grad || !g->training : 1;
        if ((t->role == ROLE_PARAM || t->role == ROLE_INPUT) && is_read && bad_data(t))
            return t->name;
    }
    point_given_views(g);
    for (int i = 0; i < p->visits; i++) {
        const node *n = p->visit[i].node;
        make_visit(g, &p->visit[i]);
        if (p->visit[i].kind == VISIT_CLEAR) continue;
        if (p->visit[i].kind != VISIT_BACKWARD) {
            if (bad_data(n->out)) return n->out->name;
            continue;
        }
        for (int k = 0; k < n->inputs; k++)
            if (n->in[k] && n->in[k]->needs_grad && bad_gradient(n->in[k])) return n->in[k]->name;
    }
    return NULL;
}
