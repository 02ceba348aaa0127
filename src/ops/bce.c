/* bce - mean over batch and outputs of -t*log s(x) - (1-t)*log(1 - s(x)), s the sigmoid. loss:
 * [1]. Tasks have some elements; the losses of tasks are added up in order. */
#include "core/tasks.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <math.h>

enum { PIECE = 2048 }; /* elements per task */

static double *losses_of(const node *n) { return n->scratch; }

static size_t pieces_of(const node *n) { return div_up_size(n->in[0]->count, PIECE); }

/* Scratch is for the loss of each task. */
static size_t scratch(const graph *g, const node *n, int back)
{
    (void)g;
    return back ? 0 : pieces_of(n) * sizeof(double);
}

static void forward_piece(void *arg, size_t piece, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t end = min_size((piece + 1) * PIECE, n->in[0]->count);
    double loss = 0;
    for (size_t i = piece * PIECE; i < end; i++) {
        double x = (double)n->in[0]->data[i], t = (double)n->in[1]->data[i];
        loss += (x > 0 ? x : 0) - x * t + log1p(exp(-fabs(x)));
    }
    losses_of(n)[piece] = loss;
}

static void forward(const graph *g, const node *n)
{
    double loss = 0;
    pool_run(g->context->pool, pieces_of(n), forward_piece, (void *)n);
    for (size_t i = 0; i < pieces_of(n); i++) loss += losses_of(n)[i];
    n->out->data[0] = (real)(loss / (double)n->in[0]->count);
}

static void backward_piece(void *arg, size_t piece, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t end = min_size((piece + 1) * PIECE, n->in[0]->count);
    const double scale = (double)n->out->grad[0] / (double)n->in[0]->count;
    for (size_t i = piece * PIECE; i < end; i++) {
        double x = (double)n->in[0]->data[i], t = (double)n->in[1]->data[i];
        n->in[0]->grad[i] =
            (real)(scale * (1 / (1 + exp(-x)) - t)) + (n->adds[0] ? n->in[0]->grad[i] : 0);
    }
}

static void backward(const graph *g, const node *n)
{
    pool_run(g->context->pool, pieces_of(n), backward_piece, (void *)n);
}

const op op_bce = {
    .name = "bce", .reads_in = 3, .scratch = scratch, .forward = forward, .backward = backward};

tensor *bce(graph *g, tensor *x, tensor *targets)
{
    char one[64], two[64];
    if (g->status) return NULL;
    if (!same_shape(x, targets))
        return graph_fail(g, "bce: logits %s and targets %s differ", shape_text(x, one),
                          shape_text(targets, two));
    if (targets->role != ROLE_INPUT)
        return graph_fail(
            g, "bce: targets must be an input of the graph, not %s: they get no gradient",
            targets->name);
    node *n = graph_add(g, &op_bce, 2, (tensor *[]){x, targets}, 1, (size_t[]){1}, NULL, 0);
    return n ? n->out : NULL;
}
