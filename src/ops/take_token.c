/* take_token - y[b] = x[b][t].  x: [B][T][D], y: [B][D]. */
#include "core/tasks.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

typedef struct take_token_attributes {
    size_t token;
} take_token_attributes;

static const take_token_attributes *attributes_of(const node *n) { return n->attributes; }

static const op_attribute attributes[] = {
    {"token", ATTRIBUTE_SIZE, offsetof(take_token_attributes, token)}, {0}};

enum { IMAGES = 4 }; /* of a task of forward, which is short */

static void forward_images(void *arg, size_t task, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t T = n->in[0]->shape[1], D = n->in[0]->shape[2],
                 end = min_size((task + 1) * IMAGES, n->in[0]->shape[0]);
    for (size_t b = task * IMAGES; b < end; b++)
        memcpy(n->out->data + b * D, n->in[0]->data + (b * T + attributes_of(n)->token) * D,
               D * sizeof(real));
}

static void forward(const graph *g, const node *n)
{
    pool_run(g->context->pool, div_up_size(n->in[0]->shape[0], IMAGES), forward_images, (void *)n);
}

static void backward_image(void *arg, size_t b, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t T = n->in[0]->shape[1], D = n->in[0]->shape[2];
    real *dx = n->in[0]->grad + b * T * D;
    if (!n->adds[0]) memset(dx, 0, T * D * sizeof(real));
    for (size_t d = 0; d < D; d++) dx[attributes_of(n)->token * D + d] += n->out->grad[b * D + d];
}

static void backward(const graph *g, const node *n)
{
    pool_run(g->context->pool, n->in[0]->shape[0], backward_image, (void *)n);
}

const op op_take_token = {
    .name = "take_token", .forward = forward, .backward = backward, .attributes = attributes};

tensor *take_token(graph *g, tensor *x, int t)
{
    char one[64];
    if (g->status) return NULL;
    if (x->rank != 3 || t < 0 || (size_t)t >= x->shape[1])
        return graph_fail(g, "take_token: there is no token %d in %s", t, shape_text(x, one));
    const size_t shape[] = {x->shape[0], x->shape[2]};
    const take_token_attributes a = {(size_t)t};
    node *n = graph_add(g, &op_take_token, 1, &x, 2, shape, &a, sizeof a);
    return n ? n->out : NULL;
}
