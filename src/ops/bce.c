/* bce - mean over batch and classes of -t*log s(x) - (1-t)*log(1 - s(x)), s the sigmoid. loss:
 * [1]. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <math.h>

static void forward(const graph *g, const node *n)
{
    (void)g;
    double loss = 0;
    for (size_t i = 0; i < n->in[0]->count; i++) {
        double x = (double)n->in[0]->data[i], t = (double)n->in[1]->data[i];
        loss += (x > 0 ? x : 0) - x * t + log1p(exp(-fabs(x)));
    }
    n->out->data[0] = (real)(loss / (double)n->in[0]->count);
}

static void backward(const graph *g, const node *n)
{
    (void)g;
    const double scale = (double)n->out->grad[0] / (double)n->in[0]->count;
    for (size_t i = 0; i < n->in[0]->count; i++) {
        double x = (double)n->in[0]->data[i], t = (double)n->in[1]->data[i];
        n->in[0]->grad[i] =
            (real)(scale * (1 / (1 + exp(-x)) - t)) + (n->adds[0] ? n->in[0]->grad[i] : 0);
    }
}

const op op_bce = {.name = "bce", .reads_in = 3, .forward = forward, .backward = backward};

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
