/* cross_entropy - mean over the batch of -sum_c t_c * log softmax(x)_c; targets t may be soft, and
 * sum to one. loss: [1]. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <math.h>

/* log of the sum of exponentials of a row */
static double log_sum(const real *x, size_t classes)
{
    double top = (double)x[0], sum = 0;
    for (size_t c = 1; c < classes; c++) top = (double)x[c] > top ? (double)x[c] : top;
    for (size_t c = 0; c < classes; c++) sum += exp((double)x[c] - top);
    return top + log(sum);
}

static void forward(const graph *g, const node *n)
{
    (void)g;
    const size_t B = n->in[0]->shape[0], classes = n->in[0]->shape[1];
    double loss = 0;
    for (size_t b = 0; b < B; b++) {
        const real *x = n->in[0]->data + b * classes, *t = n->in[1]->data + b * classes;
        double all = log_sum(x, classes);
        for (size_t c = 0; c < classes; c++) loss += (double)t[c] * (all - (double)x[c]);
    }
    n->out->data[0] = (real)(loss / (double)B);
}

static void backward(const graph *g, const node *n)
{
    (void)g;
    const size_t B = n->in[0]->shape[0], classes = n->in[0]->shape[1];
    const double scale = (double)n->out->grad[0] / (double)B;
    for (size_t b = 0; b < B; b++) {
        const real *x = n->in[0]->data + b * classes, *t = n->in[1]->data + b * classes;
        real *dx = n->in[0]->grad + b * classes;
        double all = log_sum(x, classes), weight = 0;
        for (size_t c = 0; c < classes; c++) weight += (double)t[c];
        for (size_t c = 0; c < classes; c++) {
            real d = (real)(scale * (weight * exp((double)x[c] - all) - (double)t[c]));
            dx[c] = d + (n->adds[0] ? dx[c] : 0);
        }
    }
}

const op op_cross_entropy = {
    .name = "cross_entropy", .reads_in = 3, .forward = forward, .backward = backward};

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
