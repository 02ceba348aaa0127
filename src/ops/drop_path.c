/* drop_path - stochastic depth: all elements of an image are 0 with probability rate, else divided
 * by 1 - rate. */
#include "core/tasks.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/random.h"

typedef struct drop_path_attributes {
    double rate;
} drop_path_attributes;

static const drop_path_attributes *attributes_of(const node *n) { return n->attributes; }

typedef struct job {
    const node *n;
    uint64_t key;
    size_t first; /* of the run's images, in the whole batch */
    int back;
    size_t tasks; /* of an image */
} job;

enum { PIECE = 16384, UNIT = 16 }; /* elements per task, about; and in whole cache lines */

static void run_part(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const double rate = attributes_of(n)->rate;
    const size_t count = n->out->count / n->out->shape[0], b = task / j->tasks,
                 part = task % j->tasks, end = task_begin(count, j->tasks, part + 1, UNIT);
    const real factor = random_at(j->key, j->first + b) < rate ? 0 : (real)(1 / (1 - rate));
    const real *from = (j->back ? n->out->grad : n->in[0]->data) + b * count;
    real *to = (j->back ? n->in[0]->grad : n->out->data) + b * count;
    const int adds = j->back && n->adds[0];
    for (size_t i = task_begin(count, j->tasks, part, UNIT); i < end; i++)
        to[i] = factor * from[i] + (adds ? to[i] : 0);
}

static void run(const graph *g, const node *n, int back)
{
    const size_t images = n->out->shape[0];
    job j = {n, random_key(g, n), g->slice * images, back,
             div_up_size(n->out->count / images, PIECE)};
    pool_run(g->context->pool, images * j.tasks, run_part, &j);
}

static void forward(const graph *g, const node *n) { run(g, n, 0); }
static void backward(const graph *g, const node *n) { run(g, n, 1); }

const op op_drop_path = {
    .name = "drop_path", .affordable = 1, .forward = forward, .backward = backward};

tensor *drop_path(graph *g, tensor *x, double rate)
{
    if (g->status || !g->random || rate == 0) return x;
    if (!(rate > 0 && rate < 1)) return graph_fail(g, "drop_path: rate %g is not in [0, 1)", rate);
    const drop_path_attributes a = {rate};
    node *n = graph_add(g, &op_drop_path, 1, &x, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
