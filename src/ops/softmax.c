/* softmax - over the last axis. */
#include "core/arith.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

enum { PART = 8192 }; /* elements per task, about */

typedef struct job {
    const node *n;
    const simd_ops *simd;
    size_t rows; /* of a task */
    int back;
} job;

static void run_rows(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const size_t D = last_axis(n->out);
    for (size_t r = task * j->rows; r < (task + 1) * j->rows && r < rows_of(n->out); r++)
        if (j->back)
            j->simd->softmax_back(n->in[0]->grad + r * D, n->out->grad + r * D,
                                  n->out->data + r * D, D, n->adds[0]);
        else
            j->simd->softmax(n->out->data + r * D, n->in[0]->data + r * D, D);
}

static void run(const graph *g, const node *n, int back)
{
    job j = {n, simd_ops_for(g->context->cpu), PART / last_axis(n->out) + 1, back};
    pool_run(g->context->pool, div_up_size(rows_of(n->out), j.rows), run_rows, &j);
}

static void forward(const graph *g, const node *n) { run(g, n, 0); }
static void backward(const graph *g, const node *n) { run(g, n, 1); }

const op op_softmax = {.name = "softmax", .reads_out = 1, .forward = forward, .backward = backward};

tensor *softmax(graph *g, tensor *x)
{
    if (g->status) return NULL;
    node *n = graph_add(g, &op_softmax, 1, &x, 0, NULL, NULL, 0);
    return n ? n->out : NULL;
}
