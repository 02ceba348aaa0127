/* patches - cuts images into patches, flattened as (channel, row, column). x: [B][C][R][S], y:
 * [B][R/p*S/p][C*p*p]. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

typedef struct patches_attributes {
    size_t side; /* of a patch, in pixels */
} patches_attributes;

static const patches_attributes *attributes_of(const node *n) { return n->attributes; }

static const op_attribute attributes[] = {
    {"side", ATTRIBUTE_SIZE, offsetof(patches_attributes, side)}, {0}};

/* One row of patches of one image; to the patches, or (back) from their gradient. */
static void move_row(const node *n, size_t task, real *image, real *patches, int back)
{
    const size_t *x = n->in[0]->shape, p = attributes_of(n)->side, down = x[2] / p,
                 across = x[3] / p, length = x[1] * p * p;
    const size_t b = task / down, i = task % down;
    for (size_t j = 0; j < across; j++) {
        real *patch = patches + ((b * down + i) * across + j) * length;
        for (size_t c = 0; c < x[1]; c++)
            for (size_t r = 0; r < p; r++, patch += p) {
                real *pixels = image + ((b * x[1] + c) * x[2] + i * p + r) * x[3] + j * p;
                if (!back)
                    memcpy(patch, pixels, p * sizeof(real));
                else
                    for (size_t l = 0; l < p; l++)
                        pixels[l] = patch[l] + (n->adds[0] ? pixels[l] : 0);
            }
    }
}

static void forward_row(void *arg, size_t task, int worker)
{
    const node *n = arg;
    (void)worker;
    move_row(n, task, n->in[0]->data, n->out->data, 0);
}

static void backward_row(void *arg, size_t task, int worker)
{
    const node *n = arg;
    (void)worker;
    move_row(n, task, n->in[0]->grad, n->out->grad, 1);
}

static size_t rows_of_patches(const node *n)
{
    return n->in[0]->shape[0] * (n->in[0]->shape[2] / attributes_of(n)->side);
}

static void forward(const graph *g, const node *n)
{
    pool_run(g->context->pool, rows_of_patches(n), forward_row, (void *)n);
}

static void backward(const graph *g, const node *n)
{
    pool_run(g->context->pool, rows_of_patches(n), backward_row, (void *)n);
}

const op op_patches = {.name = "patches",
                       .cheap = 1,
                       .forward = forward,
                       .backward = backward,
                       .attributes = attributes};

tensor *patches(graph *g, tensor *x, int patch)
{
    char one[64];
    if (g->status) return NULL;
    const size_t p = (size_t)patch;
    if (x->rank != 4 || patch < 1 || x->shape[2] % p || x->shape[3] % p)
        return graph_fail(g, "patches: images %s cannot be cut into patches of %d x %d",
                          shape_text(x, one), patch, patch);
    const size_t shape[] = {x->shape[0], x->shape[2] / p * (x->shape[3] / p), x->shape[1] * p * p};
    const patches_attributes a = {p};
    node *n = graph_add(g, &op_patches, 1, &x, 3, shape, &a, sizeof a);
    if (!n) return NULL;
    n->out->grid = (token_grid){0, ssm2d_grid_2d(x->shape[2] / p, x->shape[3] / p)};
    return n->out;
}
