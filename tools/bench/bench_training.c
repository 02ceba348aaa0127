#include "bench_training.h"

#include "bench_model.h"

#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "ops/ops.h"
#include "optim/flat.h"
#include "train/onednn.h"
#include "train/precision.h"

static train_precision precision_of(int kind)
{
    return kind & BENCH_BFLOAT16         ? TRAIN_PRECISION_BF16
           : kind & BENCH_BFLOAT16_TILES ? TRAIN_PRECISION_BF16_TILES
                                         : TRAIN_PRECISION_FLOAT32;
}

static ssm2d_status make_graph(bench_training *t, const model_config *c, size_t batch, int kind,
                               ssm2d_error *error)
{
    ssm2d_status status = weights_create(t->context, c, &t->weights, error);
    if (!status) status = graph_create(t->context, 1, &t->graph, error);
    if (!status) status = onednn_use(t->graph, error);
    if (status) return status;
    t->graph->saves_memory = (kind & BENCH_LOW_MEMORY) != 0;
    status = precision_use(t->graph, precision_of(kind), &t->products, error);
    if (status) return status;
    tensor *logits = model_build(t->graph, c, batch);
    t->targets = graph_input(t->graph, "targets", 2, (size_t[]){batch, (size_t)c->outputs});
    t->loss = cross_entropy(t->graph, logits, t->targets);
    status = graph_finish(t->graph, t->loss, error);
    if (!status) t->images = graph_find(t->graph, "images");
    return status;
}

static ssm2d_status alloc_arrays(bench_training *t, size_t slices, ssm2d_error *error)
{
    const size_t count = t->weights->total, bytes = count * sizeof(float);
    t->pixels = mem_alloc(t->context, slices * t->images->count * sizeof *t->pixels);
    t->labels = mem_alloc(t->context, slices * t->targets->count * sizeof *t->labels);
    t->params = mem_alloc(t->context, bytes);
    t->grads = mem_alloc(t->context, bytes);
    t->moments = mem_alloc(t->context, 2 * bytes);
    t->spans = mem_alloc(t->context, (size_t)t->weights->count * sizeof *t->spans);
    t->partial = mem_alloc(t->context, flat_pieces(count) * sizeof *t->partial);
    return t->pixels && t->labels && t->params && t->grads && t->moments && t->spans && t->partial
               ? SSM2D_OK
               : fail_memory(error, "%zu parameters and a batch of images", count);
}

/* Random images, random labels, and one span for every array of the weights. */
static void fill(bench_training *t, size_t slices)
{
    const size_t outputs = t->targets->shape[1];
    rng r = rng_seed(1);
    for (size_t i = 0; i < slices * t->images->count; i++)
        t->pixels[i] = (float)rng_uniform(&r, -2, 2);
    for (size_t i = 0; i < slices * t->targets->shape[0]; i++)
        t->labels[i * outputs + rng_next(&r) % outputs] = 1;
    for (int i = 0; i < t->weights->count; i++) {
        const param_array *a = &t->weights->arrays[i];
        t->spans[i] = (param_span){a->offset, a->count, a->spec.group == PARAM_DECAY, 1};
    }
}

ssm2d_status bench_training_create(ssm2d_context *context, const model_config *config, size_t batch,
                                   size_t slices, int kind, bench_training *t, ssm2d_error *error)
{
    *t = (bench_training){.context = context};
    ssm2d_status status = make_graph(t, config, batch, kind, error);
    if (!status) status = alloc_arrays(t, slices, error);
    if (!status) status = weights_init(t->weights, PARAM_ALL, 1, t->params, error);
    if (status) return status;
    fill(t, slices);
    graph_bind(t->graph, t->params, t->grads);
    bench_training_slice(t, 0);
    return SSM2D_OK;
}

void bench_training_destroy(bench_training *t)
{
    void *const memory[] = {t->pixels,  t->labels, t->params, t->grads,
                            t->moments, t->spans,  t->partial};
    graph_destroy(t->graph);
    weights_destroy(t->weights);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) mem_free(t->context, memory[i]);
}

void bench_training_slice(bench_training *t, int slice)
{
    t->images->data = t->pixels + (size_t)slice * t->images->count;
    t->targets->data = t->labels + (size_t)slice * t->targets->count;
}

void bench_training_gradient(bench_training *t)
{
    t->graph->step = (uint64_t)t->steps;
    graph_forward(t->graph);
    t->loss->grad[0] = 1;
    graph_backward(t->graph);
}

void bench_training_update(bench_training *t)
{
    const weights *w = t->weights;
    const optimizer_step step = {
        .settings = {.decay = 0.05, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
        .lr = 1e-4,
        .t = ++t->steps,
        .factor = 1,
        .count = w->total,
        .span_count = (size_t)w->count,
        .spans = t->spans,
        .weights = t->params,
        .gradients = t->grads,
        .arrays = {t->moments, t->moments + w->total}};
    gradient_norm(t->context, w->total, t->grads, t->partial);
    optimizer_update(t->context, optimizer_at(0), &step);
}
