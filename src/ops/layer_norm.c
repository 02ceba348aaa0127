/* layer_norm - y = (x - mean)/sqrt(variance + eps) * gamma + beta over the last axis; biased
 * variance.
 *
 * x, y: [rows][D]; gamma, beta: [D]. Saved: [rows][2], mean and 1/sqrt(variance + eps). Rows are
 * cut into parts, their number a function of the shape alone; sums over rows are kept for each part
 * and added in order. */
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

#include <string.h>

enum { X, GAMMA, BETA };

typedef struct layer_norm_attributes {
    double eps;
} layer_norm_attributes;

static const layer_norm_attributes *attributes_of(const node *n) { return n->attributes; }

static const op_attribute attributes[] = {
    {"eps", ATTRIBUTE_REAL, offsetof(layer_norm_attributes, eps)}, {0}};

typedef struct job {
    const graph *g;
    const node *n;
    const simd_ops *simd;
    size_t parts;
} job;

static size_t saved(const graph *g, const node *n)
{
    (void)g;
    return 2 * rows_of(n->out) * sizeof(real);
}

static size_t scratch(const graph *g, const node *n, int back)
{
    (void)g;
    return back ? row_parts(n) * 2 * last_axis(n->out) * sizeof(real) : 0;
}

static void forward_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const size_t rows = rows_of(n->out), D = last_axis(n->out);
    real *stats = n->saved;
    for (size_t r = rows * part / j->parts; r < rows * (part + 1) / j->parts; r++)
        j->simd->norm(n->out->data + r * D, j->g->training ? stats + 2 * r : NULL,
                      row_data(n->in[X], r), n->in[GAMMA]->data, n->in[BETA]->data, D,
                      (real)attributes_of(n)->eps);
}

static void rows(const graph *g, const node *n, size_t count, const void *const *in, void *out)
{
    const simd_ops *simd = simd_ops_for(g->context->cpu);
    const size_t D = last_axis(n->out);
    const real *x = in[X];
    real *y = out;
    for (size_t r = 0; r < count; r++)
        simd->norm(y + r * D, NULL, x + r * n->in[X]->row_stride, in[GAMMA], in[BETA], D,
                   (real)attributes_of(n)->eps);
}

static void backward_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const size_t rows = rows_of(n->out), D = last_axis(n->out);
    real *stats = n->saved, *dgamma = (real *)n->scratch + part * 2 * D;
    memset(dgamma, 0, 2 * D * sizeof(real));
    for (size_t r = rows * part / j->parts; r < rows * (part + 1) / j->parts; r++)
        j->simd->norm_back(n->in[X]->needs_grad ? row_grad(n->in[X], r) : NULL, dgamma, dgamma + D,
                           n->out->grad + r * D, row_data(n->in[X], r), stats + 2 * r,
                           n->in[GAMMA]->data, D, n->adds[X]);
}

static void forward(const graph *g, const node *n)
{
    job j = {g, n, simd_ops_for(g->context->cpu), row_parts(n)};
    pool_run(g->context->pool, j.parts, forward_part, &j);
}

static void backward(const graph *g, const node *n)
{
    job j = {g, n, simd_ops_for(g->context->cpu), row_parts(n)};
    const size_t D = last_axis(n->out);
    pool_run(g->context->pool, j.parts, backward_part, &j);
    part_sums sums = {.from = n->scratch, .parts = j.parts, .stride = 2 * D, .count = D};
    for (int i = GAMMA; i <= BETA; i++) {
        if (!n->in[i]->needs_grad) continue;
        sums.to[i - GAMMA] = n->in[i]->grad;
        if (!n->adds[i]) memset(n->in[i]->grad, 0, D * sizeof(real));
    }
    part_sums_add(g->context->pool, &sums);
}

const op op_layer_norm = {.name = "layer_norm",
                          .reads_in = 3,
                          .cheap = 1,
                          .strided_in = 1,
                          .saved = saved,
                          .scratch = scratch,
                          .forward = forward,
                          .rows = rows,
                          .rows_in = 1 << X,
                          .backward = backward,
                          .attributes = attributes};

tensor *layer_norm(graph *g, tensor *x, tensor *gamma, tensor *beta, double eps)
{
    char one[64], two[64];
    if (g->status) return NULL;
    if (gamma->count != last_axis(x) || beta->count != last_axis(x))
        return graph_fail(g, "layer_norm: input %s does not fit weights %s", shape_text(x, one),
                          shape_text(gamma->count != last_axis(x) ? gamma : beta, two));
    const layer_norm_attributes a = {eps};
    node *n = graph_add(g, &op_layer_norm, 3, (tensor *[]){x, gamma, beta}, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
