/* dropout - each element is 0 with probability rate, else divided by 1 - rate. The mask is drawn
 * anew in backward, not kept. */
#include "core/arith.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/random.h"

typedef struct dropout_attributes {
    double rate;
} dropout_attributes;

static const dropout_attributes *attributes_of(const node *n) { return n->attributes; }

typedef struct job {
    const node *n;
    uint64_t key;
    size_t first; /* of the run's elements, in the whole batch */
    int back;
} job;

enum { PIECE = 4096 };

static void run_piece(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const double rate = attributes_of(n)->rate;
    const real keep = (real)(1 / (1 - rate)), *from = j->back ? n->out->grad : n->in[0]->data;
    real *to = j->back ? n->in[0]->grad : n->out->data;
    const int adds = j->back && n->adds[0];
    for (size_t i = task * PIECE; i < (task + 1) * PIECE && i < n->out->count; i++)
        to[i] = (random_at(j->key, j->first + i) < rate ? 0 : keep * from[i]) + (adds ? to[i] : 0);
}

static void run(const graph *g, const node *n, int back)
{
    job j = {n, random_key(g, n), g->slice * n->out->count, back};
    pool_run(g->context->pool, div_up_size(n->out->count, PIECE), run_piece, &j);
}

static void forward(const graph *g, const node *n) { run(g, n, 0); }
static void backward(const graph *g, const node *n) { run(g, n, 1); }

const op op_dropout = {
    .name = "dropout", .affordable = 1, .forward = forward, .backward = backward};

tensor *dropout(graph *g, tensor *x, double rate)
{
    if (g->status || !g->random || rate == 0) return x;
    if (!(rate > 0 && rate < 1)) return graph_fail(g, "dropout: rate %g is not in [0, 1)", rate);
    const dropout_attributes a = {rate};
    node *n = graph_add(g, &op_dropout, 1, &x, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
