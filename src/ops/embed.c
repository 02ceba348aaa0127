/* embed - y[b] = [cls; x[b]] + pos.  x: [B][T][D]; cls: [1][1][D], or none; pos: [1][T'][D], or
 * none; T' = T, one more with cls. */
#include "core/arith.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

enum { X, CLS, POS };
enum { COLUMNS = 64 }; /* of a task that sums over images */

static void forward_image(void *arg, size_t b, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t D = last_axis(n->out), T = n->in[X]->shape[1], first = n->out->shape[1] - T;
    const real *x = n->in[X]->data + b * T * D, *pos = n->in[POS] ? n->in[POS]->data : NULL;
    real *y = n->out->data + b * (T + first) * D;
    if (first) memcpy(y, n->in[CLS]->data, D * sizeof(real));
    memcpy(y + first * D, x, T * D * sizeof(real));
    for (size_t i = 0; pos && i < (T + first) * D; i++) y[i] += pos[i];
}

static void backward_image(const node *n, size_t b)
{
    const size_t D = last_axis(n->out), T = n->in[X]->shape[1], first = n->out->shape[1] - T;
    const real *dy = n->out->grad + (b * (T + first) + first) * D;
    real *dx = n->in[X]->grad + b * T * D;
    for (size_t i = 0; i < T * D; i++) dx[i] = dy[i] + (n->adds[X] ? dx[i] : 0);
}

/* The parameters see every image: a task has some columns of a token, images in order. */
static void backward_token(const node *n, size_t task)
{
    const size_t D = last_axis(n->out), all = n->out->shape[1], first = all - n->in[X]->shape[1];
    const size_t blocks = div_up_size(D, COLUMNS), t = task / blocks,
                 column = task % blocks * COLUMNS, end = min_size(column + COLUMNS, D);
    real *dpos = n->in[POS] && n->in[POS]->needs_grad ? n->in[POS]->grad + t * D : NULL;
    real *dcls = t < first && n->in[CLS]->needs_grad ? n->in[CLS]->grad : NULL;
    for (size_t b = 0; b < n->out->shape[0]; b++) {
        const real *dy = n->out->grad + (b * all + t) * D;
        for (size_t d = column; dpos && d < end; d++) dpos[d] += dy[d];
        for (size_t d = column; dcls && d < end; d++) dcls[d] += dy[d];
    }
}

/* One run for both, as neither waits for the other. */
static void backward_task(void *arg, size_t task, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t images = n->in[X]->needs_grad ? n->out->shape[0] : 0;
    if (task < images)
        backward_image(n, task);
    else
        backward_token(n, task - images);
}

static void forward(const graph *g, const node *n)
{
    pool_run(g->context->pool, n->out->shape[0], forward_image, (void *)n);
}

static void backward(const graph *g, const node *n)
{
    const size_t images = n->in[X]->needs_grad ? n->out->shape[0] : 0;
    const size_t sums = n->out->shape[1] * div_up_size(last_axis(n->out), COLUMNS);
    pool_run(g->context->pool, images + sums, backward_task, (void *)n);
}

const op op_embed = {.name = "embed", .forward = forward, .backward = backward};

tensor *embed(graph *g, tensor *x, tensor *cls, tensor *pos)
{
    char one[64], two[64];
    if (g->status) return NULL;
    const size_t shape[] = {x->shape[0], x->shape[1] + (cls != NULL), x->shape[2]};
    if (x->rank != 3 || (cls && cls->count != x->shape[2])
        || (pos && pos->count != shape[1] * shape[2]))
        return graph_fail(g, "embed: tokens %s do not fit the position embedding %s",
                          shape_text(x, one), pos ? shape_text(pos, two) : "(none)");
    if ((cls && cls->role == ROLE_VALUE) || (pos && pos->role == ROLE_VALUE))
        return graph_fail(g, "embed: cls and pos must be parameters or inputs");
    node *n = graph_add(g, &op_embed, 3, (tensor *[]){x, cls, pos}, 3, shape, NULL, 0);
    if (!n) return NULL;
    n->out->grid = x->grid;
    if (x->grid.shape.axes) n->out->grid.first += cls != NULL;
    return n->out;
}
