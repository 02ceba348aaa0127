#include "bench_step.h"

#include "bench.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "ops/ops.h"
#include "train/adamw.h"
#include "train/onednn.h"

#include <math.h>
#include <string.h>

enum { MIN_STEPS = 3, MAX_STEPS = 500, MAX_VISITS = 1 << 16 };

struct bench_step {
    bench_step_setup setup;
    weights *weights;
    graph *graph;
    tensor *images, *targets, *loss;
    batch_gradient *gradient;
    float *pixels, *classes; /* of this process's slices */
    float *params, *grads, *moment1, *moment2;
    param_span *spans;
    double *partial;
    long steps;
    /* of a timeline */
    double *visits, last;
    int visit_count;
};

/* ---- running --------------------------------------------------------------------------------- */

static void begin_slice(void *user, int slice)
{
    const bench_step *b = user;
    b->images->data = b->pixels + (size_t)slice * b->images->count;
    b->targets->data = b->classes + (size_t)slice * b->targets->count;
}

static void update(bench_step *b)
{
    static const adamw how = {0.9, 0.999, 1e-8, 0.05};
    const size_t count = b->weights->total;
    gradient_norm(b->setup.context, count, b->grads, b->partial);
    adamw_update(b->setup.context, &how, 1e-4, ++b->steps, 1, count, b->spans,
                 (size_t)b->weights->count, b->params, b->grads, b->moment1, b->moment2);
}

ssm2d_status bench_step_run(bench_step *b, ssm2d_error *error)
{
    const slice_hooks hooks = {.user = b, .begin = begin_slice};
    double loss, scratch;
    int abandoned;
    b->graph->step = (uint64_t)b->steps;
    ssm2d_status status = batch_gradient_run(b->gradient, &hooks, &loss, &abandoned, error);
    if (!status) status = cluster_sum(b->setup.cluster, &loss, &scratch, 1, error);
    if (!status && !isfinite(loss))
        status = fail(error, SSM2D_ERROR_ARGUMENT, "the model gives numbers that are not finite");
    if (!status) {
        batch_gradient_move_state(b->gradient);
        update(b);
    }
    return status;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The largest over all processes. */
static ssm2d_status largest(const bench_step *b, double *value, ssm2d_error *error)
{
    cluster *c = b->setup.cluster;
    double *all = mem_alloc(b->setup.context, (size_t)c->size * sizeof *all);
    if (!all) return fail(error, SSM2D_ERROR_MEMORY, "no memory for %d processes", c->size);
    const ssm2d_status status = cluster_gather(c, value, sizeof *value, all, error);
    for (int i = 0; i < c->size && !status; i++) *value = fmax(*value, all[i]);
    mem_free(b->setup.context, all);
    return status;
}

ssm2d_status bench_step_measure(bench_step *b, double seconds, bench_step_cost *cost,
                                ssm2d_error *error)
{
    cluster *c = b->setup.cluster;
    double samples[MAX_STEPS], elapsed = 0;
    ssm2d_status status = bench_step_run(b, error);
    const reduction_times before = batch_gradient_spent(b->gradient);
    const double bytes = c->bytes;
    double gathered = 0;
    int n = 0;
    for (; !status && (n < MIN_STEPS || (n < MAX_STEPS && elapsed < seconds * 1e3)); n++) {
        const double start = bench_now();
        status = bench_step_run(b, error);
        samples[n] = bench_now() - start;
        const double sent = c->bytes;
        if (!status) status = largest(b, &samples[n], error); /* so that all make as many steps */
        gathered += c->bytes - sent;
        elapsed += samples[n];
    }
    if (status) return status;
    const reduction_times after = batch_gradient_spent(b->gradient);
    *cost = (bench_step_cost){.ms = bench_median(samples, n),
                              .working = 1e3 * (after.working - before.working) / n,
                              .waiting = 1e3 * (after.waiting - before.waiting) / n,
                              .bytes = (c->bytes - bytes - gathered) / n};
    return SSM2D_OK;
}

static int note_visit(void *user, int visit)
{
    bench_step *b = user;
    const double now = bench_now();
    if (visit < b->visit_count) b->visits[visit] += now - b->last;
    b->last = now;
    return 0;
}

static int count_visit(void *user, int visit)
{
    bench_step *b = user;
    b->visit_count = visit + 1;
    return 0;
}

static void run_slice(bench_step *b, int (*after)(void *user, int visit))
{
    memset(b->grads, 0, b->weights->total * sizeof *b->grads);
    graph_bind(b->graph, b->params, b->grads);
    begin_slice(b, 0);
    b->graph->step = (uint64_t)b->steps;
    b->graph->after_visit = after;
    b->graph->after_visit_user = b;
    b->last = bench_now();
    graph_forward(b->graph);
    b->loss->grad[0] = 1;
    graph_backward(b->graph);
    b->graph->after_visit = NULL;
}

int bench_step_visits(bench_step *b)
{
    if (!b->visit_count) run_slice(b, count_visit);
    return b->visit_count;
}

ssm2d_status bench_step_timeline(bench_step *b, double seconds, double *visits, double *update_ms,
                                 ssm2d_error *error)
{
    double own = 0, slowest = 0;
    int n = 0;
    ssm2d_status status = SSM2D_OK;
    memset(visits, 0, (size_t)bench_step_visits(b) * sizeof *visits);
    b->visits = visits;
    *update_ms = 0;
    for (; !status && (n < MIN_STEPS || slowest < seconds * 1e3); n++) {
        const double start = bench_now();
        run_slice(b, note_visit);
        const double done = bench_now();
        update(b);
        const double updated = bench_now();
        double whole = 0;
        status = largest(b, &whole, error); /* all begin the next one together */
        whole = bench_now() - start - (updated - done);
        if (!status) status = largest(b, &whole, error);
        own += done - start;
        slowest += whole;
        *update_ms += updated - done;
    }
    /* where not all have a processor of their own, some wait for others */
    for (int i = 0; i < b->visit_count && !status; i++) visits[i] *= slowest / own / n;
    *update_ms /= n;
    return status;
}

const batch_gradient *bench_step_gradient(const bench_step *b) { return b->gradient; }

/* ---- making ---------------------------------------------------------------------------------- */

static ssm2d_status make_graph(bench_step *b, ssm2d_error *error)
{
    const bench_step_setup *s = &b->setup;
    const size_t slice = s->batch / (size_t)s->slices,
                 shape[] = {slice, (size_t)s->config->classes};
    ssm2d_status status = graph_create(s->context, 1, &b->graph, error);
    if (status) return status;
    onednn_use(b->graph);
    b->loss = model_build(b->graph, s->config, slice);
    b->targets = graph_input(b->graph, "targets", 2, shape);
    b->loss = cross_entropy(b->graph, b->loss, b->targets);
    if ((status = graph_finish(b->graph, b->loss, error))) return status;
    b->images = graph_find(b->graph, "images");
    return SSM2D_OK;
}

static ssm2d_status take_memory(bench_step *b, ssm2d_error *error)
{
    const ssm2d_context *context = b->setup.context;
    const size_t count = b->weights->total, bytes = count * sizeof(float),
                 own = (size_t)(b->setup.slices / b->setup.cluster->size);
    b->pixels = mem_alloc(context, own * b->images->count * sizeof *b->pixels);
    b->classes = mem_alloc(context, own * b->targets->count * sizeof *b->classes);
    b->params = mem_alloc(context, bytes);
    b->grads = mem_alloc(context, bytes);
    b->moment1 = mem_alloc(context, bytes);
    b->moment2 = mem_alloc(context, bytes);
    b->spans = mem_alloc(context, (size_t)b->weights->count * sizeof *b->spans);
    b->partial = mem_alloc(context, norm_pieces(count) * sizeof *b->partial);
    if (!b->pixels || !b->classes || !b->params || !b->grads || !b->moment1 || !b->moment2
        || !b->spans || !b->partial)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu parameters and a batch of images",
                    count);
    rng r = rng_seed(1);
    for (size_t i = 0; i < own * b->images->count; i++)
        b->pixels[i] = (float)rng_uniform(&r, -2, 2);
    for (size_t i = 0; i < own * b->targets->shape[0]; i++)
        b->classes[i * b->targets->shape[1] + rng_next(&r) % b->targets->shape[1]] = 1;
    for (int i = 0; i < b->weights->count; i++) {
        const param_array *a = &b->weights->arrays[i];
        b->spans[i] = (param_span){a->offset, a->count, a->spec.group == PARAM_DECAY, 1};
    }
    return weights_init(b->weights, PARAM_ALL, 1, b->params, error);
}

static ssm2d_status create(bench_step *b, ssm2d_error *error)
{
    const bench_step_setup *s = &b->setup;
    ssm2d_status status = weights_create(s->context, s->config, &b->weights, error);
    if (!status) status = make_graph(b, error);
    if (!status) status = take_memory(b, error);
    if (status) return status;
    const gradient_setup g = {s->context, s->cluster, b->graph,  b->loss,     b->weights,
                              b->params,  b->grads,   s->slices, s->unordered};
    return batch_gradient_create(&g, &b->gradient, error);
}

ssm2d_status bench_step_create(const bench_step_setup *setup, bench_step **out, ssm2d_error *error)
{
    *out = NULL;
    bench_step *b = mem_alloc(setup->context, sizeof *b);
    ssm2d_status status = SSM2D_OK;
    if (!b) status = fail(error, SSM2D_ERROR_MEMORY, "no memory for a step");
    if (b) b->setup = *setup;
    if (b) status = create(b, error);
    status = cluster_agree(setup->cluster, status, error);
    if (status)
        bench_step_destroy(b);
    else
        *out = b;
    return status;
}

void bench_step_destroy(bench_step *b)
{
    if (!b) return;
    const ssm2d_context *context = b->setup.context;
    void *const memory[] = {b->pixels,  b->classes, b->params, b->grads,
                            b->moment1, b->moment2, b->spans,  b->partial};
    batch_gradient_destroy(b->gradient);
    graph_destroy(b->graph);
    weights_destroy(b->weights);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) mem_free(context, memory[i]);
    mem_free(context, b);
}
