#include "train/evaluate.h"

#include "core/context.h"
#include "core/status.h"
#include "data/targets.h"
#include "models/model.h"

#include <math.h>
#include <string.h>

struct evaluator {
    ssm2d_context *context;
    graph *graph;
    tensor *images, *logits;
    size_t batch, image; /* numbers in an image */
    int classes;
    float *part; /* a batch that is not full is copied here, as the graph always runs full ones */
};

ssm2d_status evaluator_create(ssm2d_context *context, const model_config *config, size_t batch,
                              evaluator **out, ssm2d_error *error)
{
    *out = NULL;
    evaluator *e = mem_alloc(context, sizeof *e);
    if (!e) return fail(error, SSM2D_ERROR_MEMORY, "no memory to evaluate");
    e->context = context;
    e->batch = batch;
    e->classes = config->classes;
    e->image = (size_t)config->channels * (size_t)config->image[0] * (size_t)config->image[1];
    ssm2d_status status = graph_create(context, 0, &e->graph, error);
    if (status) goto done;
    e->logits = model_build(e->graph, config, batch);
    if ((status = graph_finish(e->graph, e->logits, error))) goto done;
    e->images = graph_find(e->graph, "images");
    e->part = mem_alloc(context, batch * e->image * sizeof *e->part);
    if (!e->part)
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for a batch of %zu images", batch);
done:
    if (status)
        evaluator_destroy(e);
    else
        *out = e;
    return status;
}

void evaluator_destroy(evaluator *e)
{
    if (!e) return;
    graph_destroy(e->graph);
    mem_free(e->context, e->part);
    mem_free(e->context, e);
}

void evaluator_weights(evaluator *e, float *weights)
{
    graph_bind(e->graph, weights, NULL);
    e->graph->step++; /* kernels are computed again */
}

const float *evaluator_run(evaluator *e, const float *images, size_t count)
{
    e->images->data = (float *)images; /* the graph only reads it */
    if (count < e->batch) {
        memcpy(e->part, images, count * e->image * sizeof *images);
        e->images->data = e->part;
    }
    graph_forward(e->graph);
    return e->logits->data;
}

/* log(sum(exp(x))), without overflow. */
static double log_sum(const float *x, int classes)
{
    double top = (double)x[largest_index(x, classes)], sum = 0;
    for (int c = 0; c < classes; c++) sum += exp((double)x[c] - top);
    return top + log(sum);
}

void class_probabilities(train_loss loss, const float *logits, int classes, double *probabilities)
{
    if (loss == TRAIN_LOSS_BCE) {
        for (int c = 0; c < classes; c++) probabilities[c] = 1 / (1 + exp(-(double)logits[c]));
        return;
    }
    /* Relative to the largest: added to its logit, the logarithm of a sum might vanish. */
    const double largest = logits[largest_index(logits, classes)];
    double sum = 0;
    for (int c = 0; c < classes; c++) sum += probabilities[c] = exp((double)logits[c] - largest);
    for (int c = 0; c < classes; c++) probabilities[c] /= sum;
}

/* The loss of one image. target: zeros and ones; for cross-entropy a single one. */
static double image_loss(train_loss loss, const float *logits, int classes, const float *target)
{
    double sum = 0;
    if (loss == TRAIN_LOSS_CROSS_ENTROPY)
        return log_sum(logits, classes) - (double)logits[largest_index(target, classes)];
    for (int c = 0; c < classes; c++) {
        double x = (double)logits[c];
        sum += (x > 0 ? x : 0) - (target[c] > 0 ? x : 0) + log1p(exp(-fabs(x)));
    }
    return sum / classes;
}

ssm2d_status evaluation_detail_create(const ssm2d_context *context, label_kind labels, int classes,
                                      int confusion, evaluation_detail *d, ssm2d_error *error)
{
    const size_t n = (size_t)classes;
    size_t bytes;
    *d = (evaluation_detail){.labels = labels, .classes = classes};
    d->images = mem_alloc(context, 3 * n * sizeof *d->images);
    if (d->images) {
        d->predicted = d->images + n;
        d->hits = d->predicted + n;
    }
    if (confusion && !__builtin_mul_overflow(n, n * sizeof *d->confusion, &bytes))
        d->confusion = mem_alloc(context, bytes);
    if (d->images && (d->confusion || !confusion)) return SSM2D_OK;
    evaluation_detail_destroy(context, d);
    return fail(error, SSM2D_ERROR_MEMORY, "no memory for the counts of %d classes", classes);
}

void evaluation_detail_destroy(const ssm2d_context *context, evaluation_detail *d)
{
    mem_free(context, d->images);
    mem_free(context, d->confusion);
    *d = (evaluation_detail){0};
}

static void count_image(evaluation_detail *d, const float *logits, const float *target)
{
    if (d->labels == LABEL_BINARY) {
        for (int c = 0; c < d->classes; c++) {
            const int has = target[c] > .5f, said = logits[c] > 0;
            d->images[c] += (size_t)has;
            d->predicted[c] += (size_t)said;
            d->hits[c] += (size_t)(has && said);
        }
        return;
    }
    const int class = largest_index(target, d->classes), said = largest_index(logits, d->classes);
    d->images[class]++;
    d->predicted[said]++;
    d->hits[class] += class == said;
    if (d->confusion) d->confusion[(size_t) class * (size_t)d->classes + (size_t)said]++;
}

/* Whether the class is among the k likeliest; of equal logits the first counts as larger. */
static int in_top(const float *logits, int classes, const float *target, int k)
{
    const int class = largest_index(target, classes);
    int before = 0;
    for (int c = 0; c < classes; c++)
        before += logits[c] > logits[class] || (c < class && !(logits[c] < logits[class]));
    return before < k;
}

ssm2d_status evaluate(evaluator *e, loader *images, train_loss loss, const evaluation_hooks *hooks,
                      evaluation *result, ssm2d_error *error)
{
    const label_kind labels = loader_labels(images);
    const int classes = e->classes;
    size_t batches = loader_batches(images), correct = 0, top = 0;
    evaluation_detail *detail = hooks ? hooks->detail : NULL;
    double sum = 0;
    *result = (evaluation){0};
    if (labels == LABEL_BINARY && loss == TRAIN_LOSS_CROSS_ENTROPY)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "loss=cross-entropy: the data have binary labels: use bce");
    ssm2d_status status = loader_seek(images, 0, 0, error);
    for (size_t b = 0; b < batches && !status; b++) {
        loader_batch batch;
        if (hooks && hooks->stop && hooks->stop(hooks->user)) {
            result->stopped = 1;
            return SSM2D_OK;
        }
        if ((status = loader_next(images, &batch, error))) break;
        const float *logits = evaluator_run(e, batch.images, batch.count);
        for (size_t i = 0; i < batch.count; i++, logits += classes) {
            const float *target = batch.targets + i * (size_t)classes;
            const double one = image_loss(loss, logits, classes, target);
            sum += one;
            correct += (size_t)label_correct(labels, classes, logits, target);
            if (labels == LABEL_CLASS) top += (size_t)in_top(logits, classes, target, 5);
            if (detail) count_image(detail, logits, target);
            if (hooks && hooks->image)
                hooks->image(hooks->user, &(evaluated_image){.number = result->images + i,
                                                             .pixels = batch.images + i * e->image,
                                                             .logits = logits,
                                                             .target = target,
                                                             .loss = one});
        }
        result->images += batch.count;
        if (hooks && hooks->progress) hooks->progress(hooks->user, b + 1, batches);
    }
    if (status) return status;
    if (!result->images)
        return fail(error, SSM2D_ERROR_ARGUMENT, "evaluation: no image could be read");
    result->top5 = (double)top / (double)result->images;
    result->loss = sum / (double)result->images;
    result->accuracy =
        (double)correct / ((double)result->images * label_decisions(labels, classes));
    if (!isfinite(result->loss))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "evaluation: the model gives numbers that are not finite");
    return SSM2D_OK;
}
