#include "train/evaluate.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/targets.h"
#include "models/model.h"

#include <math.h>
#include <string.h>

/* log(sum(exp(x))), without overflow. */
static double log_sum(const float *x, int classes)
{
    double top = (double)x[largest_index(x, classes)], sum = 0;
    for (int c = 0; c < classes; c++) sum += exp((double)x[c] - top);
    return top + log(sum);
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

/* What a process has counted, as numbers that can be summed over processes. */
typedef struct tally {
    double correct, top, images, stopped;
} tally;

enum { TALLIES = sizeof(tally) / sizeof(double) };

/* Evaluates the batches of this process. losses[batches * batch], of each image in its place. */
static ssm2d_status count_batches(evaluator *e, loader *images, train_loss loss,
                                  const evaluation_hooks *hooks, const cluster *c, double *losses,
                                  tally *sum, ssm2d_error *error)
{
    const label_kind labels = loader_labels(images);
    const int classes = e->classes;
    const size_t batches = loader_batches(images);
    ssm2d_status status = loader_seek(images, 0, 0, error);
    for (size_t b = (size_t)c->rank; b < batches && !status; b += (size_t)c->size) {
        loader_batch batch;
        if (hooks->stop && hooks->stop(hooks->user)) {
            sum->stopped = 1;
            return SSM2D_OK;
        }
        if ((status = loader_next(images, &batch, error))) break;
        const float *logits = evaluator_run(e, batch.images, batch.count);
        for (size_t i = 0; i < batch.count; i++, logits += classes) {
            const float *target = batch.targets + i * (size_t)classes;
            const double one = image_loss(loss, logits, classes, target);
            losses[b * e->batch + i] = one;
            sum->correct += (double)label_correct(labels, classes, logits, target);
            if (labels == LABEL_CLASS) sum->top += (double)in_top(logits, classes, target, 5);
            if (hooks->detail) count_image(hooks->detail, logits, target);
            if (hooks->image)
                hooks->image(hooks->user, &(evaluated_image){.number = (size_t)sum->images + i,
                                                             .pixels = batch.images + i * e->image,
                                                             .logits = logits,
                                                             .target = target,
                                                             .loss = one});
        }
        sum->images += (double)batch.count;
        if (hooks->progress) hooks->progress(hooks->user, b + 1, batches);
    }
    return status;
}

/* Adds the counts of all processes; scratch: [2][size]. */
static ssm2d_status join_counts(cluster *c, size_t *counts, size_t count, double *scratch,
                                size_t size, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (size_t at = 0; at < count && !status; at += size) {
        const size_t part = min_size(count - at, size);
        for (size_t i = 0; i < part; i++) scratch[i] = (double)counts[at + i];
        status = cluster_sum(c, scratch, scratch + size, part, error);
        for (size_t i = 0; i < part; i++) counts[at + i] = (size_t)scratch[i];
    }
    return status;
}

static ssm2d_status join_detail(cluster *c, evaluation_detail *d, double *scratch, size_t size,
                                ssm2d_error *error)
{
    const size_t n = (size_t)d->classes;
    ssm2d_status status = join_counts(c, d->images, 3 * n, scratch, size, error);
    if (!status && d->confusion) status = join_counts(c, d->confusion, n * n, scratch, size, error);
    return status;
}

ssm2d_status evaluate(evaluator *e, loader *images, train_loss loss, const evaluation_hooks *hooks,
                      evaluation *result, ssm2d_error *error)
{
    static const evaluation_hooks none;
    const label_kind labels = loader_labels(images);
    cluster alone = cluster_alone(), *c = hooks && hooks->cluster ? hooks->cluster : &alone;
    const size_t places = loader_batches(images) * e->batch, count = places + TALLIES;
    tally sum = {0};
    *result = (evaluation){0};
    if (!hooks) hooks = &none;
    if (labels == LABEL_BINARY && loss == TRAIN_LOSS_CROSS_ENTROPY)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "loss=cross-entropy: the data have binary labels: use bce");
    /* A place of which another process has the image, or that has none, is 0: neither changes a
     * sum. */
    double *losses = mem_alloc(e->context, 2 * count * sizeof *losses);
    ssm2d_status status =
        losses ? count_batches(e, images, loss, hooks, c, losses, &sum, error)
               : fail(error, SSM2D_ERROR_MEMORY, "no memory for the losses of %zu images", places);
    status = cluster_agree(c, status, error);
    if (!status) {
        memcpy(losses + places, &sum, sizeof sum);
        status = cluster_sum(c, losses, losses + count, count, error);
        memcpy(&sum, losses + places, sizeof sum);
    }
    double total = 0;
    for (size_t i = 0; i < places && !status; i++) total += losses[i];
    if (!status && hooks->detail && c->size > 1)
        status = join_detail(c, hooks->detail, losses, count, error);
    mem_free(e->context, losses);
    if (status) return status;
    result->stopped = sum.stopped > 0;
    if (result->stopped) return SSM2D_OK;
    result->images = (size_t)sum.images;
    if (!result->images)
        return fail(error, SSM2D_ERROR_ARGUMENT, "evaluation: no image could be read");
    result->top5 = sum.top / sum.images;
    result->loss = total / sum.images;
    result->accuracy = sum.correct / (sum.images * label_decisions(labels, e->classes));
    if (!isfinite(result->loss))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "evaluation: the model gives numbers that are not finite");
    return SSM2D_OK;
}
