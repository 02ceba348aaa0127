#include "bench_model.h"

#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "inference/trained_model.h"
#include "ops/ops.h"
#include "train/adamw.h"
#include "train/onednn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2, SEED = 1 }; /* WARM_UP: runs that are not timed */

static const adamw default_adamw = {0.9, 0.999, 1e-8, 0.05};
static const double learning_rate = 1e-4;

struct bench_model {
    ssm2d_context *context;
    ssm2d_model *model;     /* of inference, which has the weights, and a plan of it */
    ssm2d_model_plan *plan; /* the graph is in it; NULL: this is training */
    float *logits;          /* [batch][classes] */
    weights *weights;       /* of training */
    graph *graph;
    tensor *out;             /* loss, or logits */
    float *images, *targets; /* [batch][channels][rows][cols], [batch][classes] */
    float *params, *grads, *moment1, *moment2;
    param_span *spans;
    double *partial; /* of the gradient's norm */
    double *times;   /* of the graph's nodes, [nodes][2], seconds */
    double update;   /* milliseconds in the update */
    long runs, steps;
    bench_watcher *watch; /* or NULL */
    void *watch_arg;
};

/* ---- running --------------------------------------------------------------------------------- */

/* Updates the weights as src/train does, which computes the gradient's norm in every step too. */
static void update(bench_model *m)
{
    const size_t count = m->weights->total;
    gradient_norm(m->context, count, m->grads, m->partial);
    adamw_update(m->context, &default_adamw, learning_rate, ++m->steps, 1, count, m->spans,
                 (size_t)m->weights->count, m->params, m->grads, m->moment1, m->moment2);
    gradient_clear(m->context, count, m->grads); /* for the next step */
}

void bench_model_run(void *arg)
{
    bench_model *m = arg;
    m->runs++;
    if (m->plan) {
        ssm2d_model_run(m->plan, m->images, m->plan->evaluator->batch, m->logits);
        return;
    }
    m->graph->step = (uint64_t)m->steps;
    graph_forward(m->graph);
    m->out->grad[0] = 1;
    graph_backward(m->graph);
    double start = bench_now();
    if (m->watch) m->watch(m->watch_arg, "adamw", 0);
    update(m);
    if (m->watch) m->watch(m->watch_arg, NULL, 0);
    m->update += bench_now() - start;
}

static void watch_node(void *arg, const node *n, int backward)
{
    const bench_model *m = arg;
    m->watch(m->watch_arg, n ? n->op->name : NULL, backward);
}

void bench_model_watch(bench_model *m, bench_watcher *watch, void *arg)
{
    m->watch = watch;
    m->watch_arg = arg;
    graph_watch(m->graph, watch ? watch_node : NULL, m);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Inference: a model with initial weights, planned and run as by a program that uses
 * ssm2d_model.h. */
static ssm2d_status make_plan(bench_model *m, const model_config *c, size_t batch,
                              ssm2d_error *error)
{
    ssm2d_model_plan_options with = ssm2d_model_plan_options_default();
    with.batch = batch;
    ssm2d_status status = model_open_new(m->context, c, SEED, &m->model, error);
    if (!status) status = model_plan_create(m->context, m->model, &with, &m->plan, error);
    if (status) return status;
    m->graph = m->plan->evaluator->graph;
    m->out = m->plan->evaluator->out;
    m->logits = mem_alloc(m->context, m->out->count * sizeof *m->logits);
    m->images = mem_alloc(m->context, m->plan->evaluator->images->count * sizeof *m->images);
    return m->logits && m->images
               ? SSM2D_OK
               : fail(error, SSM2D_ERROR_MEMORY, "no memory for a batch of %zu images", batch);
}

static ssm2d_status make_graph(bench_model *m, const model_config *c, size_t batch, bench_task task,
                               ssm2d_error *error)
{
    const size_t shape[] = {batch, (size_t)c->classes};
    ssm2d_status status = weights_create(m->context, c, &m->weights, error);
    if (!status) status = graph_create(m->context, 1, &m->graph, error);
    if (status) return status;
    onednn_use(m->graph);
    m->graph->saves_memory = task == BENCH_TRAINING_LOW_MEMORY;
    m->out = cross_entropy(m->graph, model_build(m->graph, c, batch),
                           graph_input(m->graph, "targets", 2, shape));
    return graph_finish(m->graph, m->out, error);
}

static ssm2d_status alloc_arrays(bench_model *m, ssm2d_error *error)
{
    const size_t count = m->weights->total, bytes = count * sizeof(float);
    m->images = mem_alloc(m->context, graph_find(m->graph, "images")->count * sizeof *m->images);
    m->targets = mem_alloc(m->context, graph_find(m->graph, "targets")->count * sizeof *m->targets);
    m->params = mem_alloc(m->context, bytes);
    m->grads = mem_alloc(m->context, bytes);
    m->moment1 = mem_alloc(m->context, bytes);
    m->moment2 = mem_alloc(m->context, bytes);
    m->spans = mem_alloc(m->context, (size_t)m->weights->count * sizeof *m->spans);
    m->partial = mem_alloc(m->context, norm_pieces(count) * sizeof *m->partial);
    return m->images && m->targets && m->params && m->grads && m->moment1 && m->moment2 && m->spans
                   && m->partial
               ? SSM2D_OK
               : fail(error, SSM2D_ERROR_MEMORY,
                      "no memory for %zu parameters and a batch of images", count);
}

static ssm2d_status make_training(bench_model *m, const model_config *c, size_t batch,
                                  bench_task task, ssm2d_error *error)
{
    ssm2d_status status = make_graph(m, c, batch, task, error);
    if (!status) status = alloc_arrays(m, error);
    if (!status) status = weights_init(m->weights, PARAM_ALL, SEED, m->params, error);
    if (!status) graph_bind(m->graph, m->params, m->grads);
    return status;
}

/* Random images, random classes, and one span of parameters per array. */
static void fill(bench_model *m)
{
    tensor *images = graph_find(m->graph, "images"), *targets = graph_find(m->graph, "targets");
    rng r = rng_seed(1);
    if (!m->plan) images->data = m->images;
    for (size_t i = 0; i < images->count; i++) m->images[i] = (float)rng_uniform(&r, -2, 2);
    if (!targets) return;
    targets->data = m->targets;
    for (size_t b = 0; b < targets->shape[0]; b++)
        m->targets[b * targets->shape[1] + rng_next(&r) % targets->shape[1]] = 1;
    for (int i = 0; i < m->weights->count; i++) {
        const param_array *a = &m->weights->arrays[i];
        m->spans[i] = (param_span){a->offset, a->count, a->spec.group == PARAM_DECAY, 1};
    }
}

static ssm2d_status warm_up(bench_model *m, ssm2d_error *error)
{
    m->times = mem_alloc(m->context, 2 * (size_t)m->graph->node_count * sizeof *m->times);
    if (!m->times)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for the times of %d nodes",
                    m->graph->node_count);
    for (int i = 0; i < WARM_UP; i++) bench_model_run(m);
    for (size_t i = 0; i < m->out->count; i++)
        if (!isfinite(m->out->data[i]))
            return fail(error, SSM2D_ERROR_ARGUMENT, "the model gives numbers that are not finite");
    m->runs = 0;
    m->update = 0;
    graph_time(m->graph, m->times);
    return SSM2D_OK;
}

ssm2d_status bench_model_create(ssm2d_context *context, const model_config *config, size_t batch,
                                bench_task task, bench_model **out, ssm2d_error *error)
{
    *out = NULL;
    bench_model *m = mem_alloc(context, sizeof *m);
    if (!m) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a model");
    m->context = context;
    ssm2d_status status = task == BENCH_INFERENCE ? make_plan(m, config, batch, error)
                                                  : make_training(m, config, batch, task, error);
    if (!status) {
        fill(m);
        status = warm_up(m, error);
    }
    if (status)
        bench_model_destroy(m);
    else
        *out = m;
    return status;
}

void bench_model_destroy(bench_model *m)
{
    if (!m) return;
    ssm2d_context *context = m->context;
    void *const memory[] = {m->images,  m->targets, m->params,  m->grads, m->moment1,
                            m->moment2, m->spans,   m->partial, m->times, m->logits};
    if (!m->plan) graph_destroy(m->graph);
    ssm2d_model_plan_destroy(m->plan);
    ssm2d_model_close(m->model);
    weights_destroy(m->weights);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) mem_free(context, memory[i]);
    mem_free(context, m);
}

/* ---- counting -------------------------------------------------------------------------------- */

static double products(const node *n, int training)
{
    if (!n->op->products) return 0;
    return n->op->products(n, 0) + (training ? n->op->products(n, 1) : 0);
}

double bench_model_products(const bench_model *m)
{
    double sum = 0;
    for (int i = 0; i < m->graph->node_count; i++)
        sum += products(m->graph->nodes[i], m->graph->training);
    return sum;
}

static int longest_first(const void *a, const void *b)
{
    const bench_op *x = a, *y = b;
    double s = x->forward + x->backward, t = y->forward + y->backward;
    return (s < t) - (s > t);
}

int bench_model_ops(const bench_model *m, bench_op ops[BENCH_OPS])
{
    const double each = 1e3 / (double)m->runs;
    int count = 0;
    for (int i = 0; i < m->graph->node_count; i++) {
        const node *n = m->graph->nodes[i];
        int k = 0;
        while (k < count && strcmp(ops[k].name, n->op->name)) k++;
        /* the last place is for the update; there are fewer operators than places */
        if (k == BENCH_OPS - 1) continue;
        if (k == count) ops[count++] = (bench_op){.name = n->op->name};
        ops[k].nodes++;
        ops[k].forward += m->times[2 * i] * each;
        ops[k].backward += m->times[2 * i + 1] * each;
        ops[k].products += products(n, m->graph->training);
    }
    if (m->graph->training)
        ops[count++] =
            (bench_op){.name = "adamw", .nodes = 1, .forward = m->update / (double)m->runs};
    qsort(ops, (size_t)count, sizeof *ops, longest_first);
    return count;
}
