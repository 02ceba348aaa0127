/* run - makes the planned visits; before each, the node is told where its memory is. */
#include "graph/memory.h"

#include <math.h>
#include <string.h>
#include <time.h>

void graph_bind(graph *g, real *params, real *grads)
{
    for (int i = 0; i < g->tensor_count; i++) {
        tensor *t = g->tensors[i];
        if (t->role != ROLE_PARAM) continue;
        t->data = params + t->offset;
        t->grad = grads ? grads + t->offset : NULL;
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void make_visit(graph *g, const visit *v)
{
    node *n = v->node;
    n->scratch = (real *)(void *)(g->memory + v->scratch);
    if (v->kind == VISIT_BACKWARD) {
        n->op->backward(g, n);
        return;
    }
    n->out->data = (real *)(void *)(g->memory + v->out);
    n->op->forward(g, n);
}

static void run(graph *g, int first, int end)
{
    const memory_plan *p = g->plan;
    for (int i = first; i < end; i++) {
        const visit *v = &p->visit[i];
        const double start = p->times ? now() : 0;
        make_visit(g, v);
        if (p->times) p->times[2 * v->node->index + (v->kind != VISIT_FORWARD)] += now() - start;
    }
}

void graph_forward(graph *g)
{
    const memory_plan *p = g->plan;
    run(g, 0, p->backward);
}

void graph_backward(graph *g)
{
    const memory_plan *p = g->plan;
    run(g, p->backward, p->visits);
}

void graph_time(graph *g, double *times)
{
    memory_plan *p = g->plan;
    p->times = times;
}

static int bad(const real *numbers, size_t count)
{
    for (size_t k = 0; numbers && k < count; k++)
        if (!isfinite(numbers[k])) return 1;
    return 0;
}

const char *graph_find_bad(graph *g)
{
    const memory_plan *p = g->plan;
    for (int i = 0; i < g->tensor_count; i++)
        if (g->tensors[i]->role == ROLE_PARAM && g->tensors[i]->grad)
            memset(g->tensors[i]->grad, 0, g->tensors[i]->count * sizeof(real));
    for (int i = 0; i < g->tensor_count; i++)
        if (g->tensors[i]->role != ROLE_VALUE && bad(g->tensors[i]->data, g->tensors[i]->count))
            return g->tensors[i]->name;
    for (int i = 0; i < p->visits; i++) {
        const node *n = p->visit[i].node;
        make_visit(g, &p->visit[i]);
        if (p->visit[i].kind != VISIT_BACKWARD) {
            if (bad(n->out->data, n->out->count)) return n->out->name;
            continue;
        }
        for (int k = 0; k < n->inputs; k++)
            if (n->in[k] && n->in[k]->needs_grad && bad(n->in[k]->grad, n->in[k]->count))
                return n->in[k]->name;
    }
    return NULL;
}
