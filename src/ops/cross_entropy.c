/* cross_entropy - mean over the batch of -sum_c t_c * log softmax(x)_c; targets t may be soft, and
 * sum to one. loss: [1]. Tasks have some rows; the losses of rows are added up in order. */
#include "core/tasks.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <math.h>

/* log of the sum of exponentials of a row */
static double log_sum(const real *x, size_t outputs)
{
    double top = (double)x[0], sum = 0;
    for (size_t c = 1; c < outputs; c++) top = (double)x[c] > top ? (double)x[c] : top;
    for (size_t c = 0; c < outputs; c++) sum += exp((double)x[c] - top);
    return top + log(sum);
}

enum { PIECE = 2048 }; /* elements per task, about */

typedef struct job {
    const node *n;
    size_t rows; /* of a task */
    double *losses;
} job;

static job job_of(const node *n)
{
    return (job){n, div_up_size(PIECE, last_axis(n->in[0])), n->scratch};
}

static void run(const graph *g, job *j, pool_task task)
{
    pool_run(g->context->pool, div_up_size(rows_of(j->n->in[0]), j->rows), task, j);
}

/* Scratch is for the loss of each row. */
static size_t scratch(const graph *g, const node *n, int back)
{
    (void)g;
    return back ? 0 : rows_of(n->in[0]) * sizeof(double);
}

static void forward_rows(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const size_t outputs = n->in[0]->shape[1],
                 end = min_size((task + 1) * j->rows, n->in[0]->shape[0]);
    for (size_t b = task * j->rows; b < end; b++) {
        const real *x = n->in[0]->data + b * outputs, *t = n->in[1]->data + b * outputs;
        double all = log_sum(x, outputs), loss = 0;
        for (size_t c = 0; c < outputs; c++) loss += (double)t[c] * (all - (double)x[c]);
        j->losses[b] = loss;
    }
}

static void forward(const graph *g, const node *n)
{
    const size_t B = n->in[0]->shape[0];
    job j = job_of(n);
    double loss = 0;
    run(g, &j, forward_rows);
    for (size_t b = 0; b < B; b++) loss += j.losses[b];
    n->out->data[0] = (real)(loss / (double)B);
}

static void backward_rows(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const size_t B = n->in[0]->shape[0], outputs = n->in[0]->shape[1],
                 end = min_size((task + 1) * j->rows, B);
    const double scale = (double)n->out->grad[0] / (double)B;
    for (size_t b = task * j->rows; b < end; b++) {
        const real *x = n->in[0]->data + b * outputs, *t = n->in[1]->data + b * outputs;
        real *dx = n->in[0]->grad + b * outputs;
        double all = log_sum(x, outputs), weight = 0;
        for (size_t c = 0; c < outputs; c++) weight += (double)t[c];
        for (size_t c = 0; c < outputs; c++) {
            real d = (real)(scale * (weight * exp((double)x[c] - all) - (double)t[c]));
            dx[c] = d + (n->adds[0] ? dx[c] : 0);
        }
    }
}

static void backward(const graph *g, const node *n)
{
    job j = job_of(n);
    run(g, &j, backward_rows);
}

const op op_cross_entropy = {.name = "cross_entropy",
                             .reads_in = 3,
                             .scratch = scratch,
                             .forward = forward,
                             .backward = backward};

tensor *cross_entropy(graph *g, tensor *x, tensor *targets)
{
    char one[64], two[64];
    if (g->status) return NULL;
    if (x->rank != 2 || !same_shape(x, targets))
        return graph_fail(g, "cross_entropy: logits %s and targets %s differ", shape_text(x, one),
                          shape_text(targets, two));
    if (targets->role != ROLE_INPUT)
        return graph_fail(
            g, "cross_entropy: targets must be an input of the graph, not %s: they get no gradient",
            targets->name);
    node *n =
        graph_add(g, &op_cross_entropy, 2, (tensor *[]){x, targets}, 1, (size_t[]){1}, NULL, 0);
    return n ? n->out : NULL;
}
