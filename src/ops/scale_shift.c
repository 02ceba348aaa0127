/* scale_shift - y = x * gamma + beta over the last axis.
 *
 * x, y: [rows][D]; gamma, beta: row `row` of [..][D], either may be missing. Rows of x are cut into
 * parts, their number a function of the shape alone; the sums over rows for the gradients of gamma
 * and beta are kept for each part and added in order. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

enum { X, GAMMA, BETA };

typedef struct scale_shift_attributes {
    size_t row; /* of gamma and beta */
} scale_shift_attributes;

static const scale_shift_attributes *attributes_of(const node *n) { return n->attributes; }

static const op_attribute attributes[] = {
    {"row", ATTRIBUTE_SIZE, offsetof(scale_shift_attributes, row)}, {0}};

static size_t scratch(const graph *g, const node *n, int back)
{
    (void)g;
    return back ? row_parts(n) * 2 * last_axis(n->out) * sizeof(real) : 0;
}

static int needs_grad(const node *n, int i) { return n->in[i] && n->in[i]->needs_grad; }

/* Row `row` of gamma or beta, or NULL. */
static const real *weights_of(const node *n, int i)
{
    return n->in[i] ? n->in[i]->data + attributes_of(n)->row * last_axis(n->out) : NULL;
}

static void forward_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t rows = rows_of(n->out), D = last_axis(n->out), parts = row_parts(n);
    const real *gamma = weights_of(n, GAMMA), *beta = weights_of(n, BETA);
    for (size_t r = rows * part / parts; r < rows * (part + 1) / parts; r++) {
        const real *x = row_data(n->in[X], r);
        real *y = n->out->data + r * D;
        if (gamma && beta)
            for (size_t d = 0; d < D; d++) y[d] = x[d] * gamma[d] + beta[d];
        else if (gamma)
            for (size_t d = 0; d < D; d++) y[d] = x[d] * gamma[d];
        else
            for (size_t d = 0; d < D; d++) y[d] = x[d] + beta[d];
    }
}

static void backward_row(const node *n, size_t r, real *dgamma, real *dbeta)
{
    const size_t D = last_axis(n->out);
    const real *gamma = weights_of(n, GAMMA), *dy = n->out->grad + r * D;
    if (needs_grad(n, GAMMA)) {
        const real *x = row_data(n->in[X], r);
        for (size_t d = 0; d < D; d++) dgamma[d] += dy[d] * x[d];
    }
    if (needs_grad(n, BETA))
        for (size_t d = 0; d < D; d++) dbeta[d] += dy[d];
    if (!needs_grad(n, X)) return;
    real *dx = row_grad(n->in[X], r);
    const int adds = n->adds[X];
    if (gamma)
        for (size_t d = 0; d < D; d++) dx[d] = dy[d] * gamma[d] + (adds ? dx[d] : 0);
    else
        for (size_t d = 0; d < D; d++) dx[d] = dy[d] + (adds ? dx[d] : 0);
}

static void backward_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t rows = rows_of(n->out), D = last_axis(n->out), parts = row_parts(n);
    real *dgamma = (real *)n->scratch + part * 2 * D;
    memset(dgamma, 0, 2 * D * sizeof(real));
    for (size_t r = rows * part / parts; r < rows * (part + 1) / parts; r++)
        backward_row(n, r, dgamma, dgamma + D);
}

static void forward(const graph *g, const node *n)
{
    pool_run(g->context->pool, row_parts(n), forward_part, (void *)n);
}

static void backward(const graph *g, const node *n)
{
    const size_t D = last_axis(n->out), parts = row_parts(n);
    pool_run(g->context->pool, parts, backward_part, (void *)n);
    part_sums sums = {.from = n->scratch, .parts = parts, .stride = 2 * D, .count = D};
    for (int i = GAMMA; i <= BETA; i++)
        if (needs_grad(n, i)) sums.to[i - GAMMA] = n->in[i]->grad + attributes_of(n)->row * D;
    part_sums_add(g->context->pool, &sums);
}

const op op_scale_shift = {.name = "scale_shift",
                           .reads_in = 3,
                           .cheap = 1,
                           .strided_in = 1,
                           .scratch = scratch,
                           .forward = forward,
                           .backward = backward,
                           .attributes = attributes};

tensor *scale_shift(graph *g, tensor *x, tensor *gamma, tensor *beta, size_t row)
{
    char one[64], two[64];
    if (g->status) return NULL;
    const tensor *weights[] = {gamma, beta};
    if (!gamma && !beta) return graph_fail(g, "scale_shift: neither gamma nor beta is given");
    for (int i = 0; i < 2; i++) {
        const tensor *w = weights[i];
        if (!w) continue;
        if (last_axis(w) != last_axis(x) || row >= rows_of(w))
            return graph_fail(g, "scale_shift: input %s does not fit row %zu of %s",
                              shape_text(x, one), row, shape_text(w, two));
        /* gradients of parameters are added to; those of values would not be cleared */
        if (w->role != ROLE_PARAM && w->role != ROLE_INPUT)
            return graph_fail(g, "scale_shift: gamma and beta must be parameters or inputs, not %s",
                              w->name);
    }
    const scale_shift_attributes a = {row};
    node *n = graph_add(g, &op_scale_shift, 3, (tensor *[]){x, gamma, beta}, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
