#include "bench_model.h"

#include "bench_training.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "inference/trained_model.h"
#include "optim/flat.h"
#include "train/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2, SEED = 1 }; /* WARM_UP: runs that are not timed */

struct bench_model {
    ssm2d_context *context;
    ssm2d_model *model;     /* inference: the weights */
    ssm2d_session *session; /* inference: owns the graph; NULL: training */
    float *images, *logits; /* of inference: [batch][channels][rows][cols], [batch][outputs] */
    bench_training training;
    graph *graph;  /* of the session or of training */
    tensor *out;   /* loss, or logits */
    double *times; /* of the graph's nodes, [nodes][2], seconds */
    double update; /* milliseconds in the update */
    long runs;
    bench_watcher *watch; /* or NULL */
    void *watch_arg;
};

/* ---- running --------------------------------------------------------------------------------- */

void bench_model_run(void *arg)
{
    bench_model *m = arg;
    m->runs++;
    if (m->session) {
        ssm2d_session_run(m->session, m->images, m->session->evaluator->batch, m->logits, NULL);
        return;
    }
    bench_training *t = &m->training;
    bench_training_gradient(t);
    double start = bench_now();
    if (m->watch) m->watch(m->watch_arg, "adamw", 0);
    bench_training_update(t);
    gradient_clear(m->context, t->weights->total, t->grads); /* for the next step */
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

/* ---- creating -------------------------------------------------------------------------------- */

static ssm2d_status make_images(bench_model *m, const model_config *c, size_t batch,
                                ssm2d_error *error)
{
    const size_t image = (size_t)c->channels * (size_t)c->image[0] * (size_t)c->image[1];
    m->images = mem_alloc(m->context, batch * image * sizeof *m->images);
    if (!m->images) return fail_memory(error, "batch of %zu images", batch);
    rng r = rng_seed(1);
    for (size_t i = 0; i < batch * image; i++) m->images[i] = (float)rng_uniform(&r, -2, 2);
    return SSM2D_OK;
}

/* Quantises the model by the random images. */
static ssm2d_status quantize(bench_model *m, size_t batch, ssm2d_error *error)
{
    calibration *c;
    ssm2d_status status = calibration_create(m->context, m->model, batch, &c, error);
    if (status) return status;
    calibration_run(c, m->images, batch);
    calibration_second(c);
    calibration_run(c, m->images, batch);
    status = calibration_end(c, &m->model->quantized, error);
    calibration_destroy(c);
    return status;
}

/* Inference: a model with initial weights, planned and run as by a program that uses
 * ssm2d_model.h. */
static ssm2d_status make_session(bench_model *m, const model_config *c, size_t batch, int mode,
                                 ssm2d_error *error)
{
    ssm2d_session_options with = ssm2d_session_options_default();
    with.batch = batch;
    ssm2d_status status = make_images(m, c, batch, error);
    if (!status) status = model_open_new(m->context, c, SEED, &m->model, error);
    if (!status && mode & BENCH_INT8) status = quantize(m, batch, error);
    if (!status && mode & BENCH_BFLOAT16) m->model->factors = ELEMENT_BFLOAT16;
    if (!status) status = session_create(m->context, m->model, &with, &m->session, error);
    if (status) return status;
    m->graph = m->session->evaluator->graph;
    m->out = m->session->evaluator->out;
    m->logits = mem_alloc(m->context, m->out->count * sizeof *m->logits);
    return m->logits ? SSM2D_OK : fail_memory(error, "batch of %zu images", batch);
}

static ssm2d_status make_training(bench_model *m, const model_config *c, size_t batch, int mode,
                                  ssm2d_error *error)
{
    const ssm2d_status status =
        bench_training_create(m->context, c, batch, 1, mode, &m->training, error);
    m->graph = m->training.graph;
    m->out = m->training.loss;
    return status;
}

static ssm2d_status warm_up(bench_model *m, ssm2d_error *error)
{
    m->times = mem_alloc(m->context, 2 * (size_t)m->graph->node_count * sizeof *m->times);
    if (!m->times) return fail_memory(error, "times of %d nodes", m->graph->node_count);
    for (int i = 0; i < WARM_UP; i++) bench_model_run(m);
    for (size_t i = 0; i < m->out->count; i++)
        if (!isfinite(m->out->data[i]))
            return fail(error, SSM2D_ERROR_ARGUMENT, "the model's output is not finite");
    m->runs = 0;
    m->update = 0;
    graph_time(m->graph, m->times);
    return SSM2D_OK;
}

ssm2d_status bench_model_create(ssm2d_context *context, const model_config *config, size_t batch,
                                int mode, bench_model **out, ssm2d_error *error)
{
    *out = NULL;
    bench_model *m = mem_alloc(context, sizeof *m);
    if (!m) return fail_memory(error, "model");
    m->context = context;
    ssm2d_status status = mode & BENCH_TRAINING ? make_training(m, config, batch, mode, error)
                                                : make_session(m, config, batch, mode, error);
    if (!status) status = warm_up(m, error);
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
    ssm2d_session_destroy(m->session);
    ssm2d_model_close(m->model);
    bench_training_destroy(&m->training);
    mem_free(context, m->images);
    mem_free(context, m->logits);
    mem_free(context, m->times);
    mem_free(context, m);
}

/* ---- counting -------------------------------------------------------------------------------- */

static double products(const node *n, int training)
{
    if (!n->op->products) return 0;
    return n->op->products(n, 0) + (training ? n->op->products(n, 1) : 0);
}

const char *bench_model_instructions(const bench_model *m) { return m->training.products; }

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
        /* the last entry is reserved for the update; there are fewer operators than entries */
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
