#include "train/evaluate.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

/* The results of every image have a place of their own, so that the order of summation does not
 * depend on the number of processes. The block is [losses][values][totals]; a process leaves zeros
 * in the places of the others, so that the sum of all blocks holds all results. */
enum { TOTAL_IMAGES, TOTAL_STOPPED, TOTALS };

typedef struct work {
    evaluator *e;
    loader *images;
    const task *t;
    loss_kind loss;
    const evaluation_hooks *hooks;
    int rank, size; /* this process, and the number of processes */
    task_shape shape;
    size_t places, count; /* the largest number of images; doubles in the block */
    double *losses;       /* the block: [places] */
    double *values;       /* [places][values] */
    double *totals;       /* [TOTALS] */
    size_t *counts;       /* of the task; NULL: not wanted */
    size_t count_size;
} work;

static void evaluate_image(work *w, const loader_batch *batch, size_t i, size_t place,
                           const float *out)
{
    const size_t elements = task_targets(w->t, &w->shape, 0).elements;
    const float *target = batch->targets + i * elements;
    double values[TASK_VALUES];
    const double loss = loss_at(w->loss)->of_image(out, target, &w->shape);
    w->losses[place] = loss;
    w->t->judge(out, target, &w->shape, values);
    memcpy(w->values + place * (size_t)w->t->values, values, (size_t)w->t->values * sizeof *values);
    if (w->counts) w->t->count(out, target, &w->shape, w->counts);
    if (!w->hooks->image) return;
    const evaluated_image image = {.index = batch->samples[i].image,
                                   .pixels = batch->images + i * w->e->image,
                                   .out = out,
                                   .target = target,
                                   .loss = loss};
    w->hooks->image(w->hooks->user, &image);
}

/* Evaluates the batches of this process. */
static ssm2d_status evaluate_batches(work *w, ssm2d_error *error)
{
    const evaluation_hooks *hooks = w->hooks;
    const size_t batches = loader_batches(w->images);
    ssm2d_status status = loader_seek(w->images, 0, 0, error);
    for (size_t b = (size_t)w->rank; b < batches && !status; b += (size_t)w->size) {
        loader_batch batch;
        if (hooks->stop && hooks->stop(hooks->user)) {
            w->totals[TOTAL_STOPPED] = 1;
            return SSM2D_OK;
        }
        if ((status = loader_next(w->images, &batch, error))) break;
        const float *out = evaluator_run(w->e, batch.images, batch.count);
        const size_t size = w->e->out->count / w->e->batch;
        for (size_t i = 0; i < batch.count; i++)
            evaluate_image(w, &batch, i, b * w->e->batch + i, out + i * size);
        w->totals[TOTAL_IMAGES] += (double)batch.count;
        if (hooks->progress) hooks->progress(hooks->user, b + 1, batches);
    }
    return status;
}

/* ---- several processes ----------------------------------------------------------------------- */

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

static ssm2d_status join(work *w, cluster *c, ssm2d_status status, ssm2d_error *error)
{
    const size_t size = w->count;
    double *scratch = mem_alloc(w->e->context, 2 * size * sizeof *scratch);
    if (!status && !scratch) status = fail_memory(error, "results of %zu images", w->places);
    status = cluster_agree(c, status, error);
    if (!status) status = cluster_sum(c, w->losses, scratch, size, error);
    if (!status && w->counts)
        status = join_counts(c, w->counts, w->count_size, scratch, size, error);
    mem_free(w->e->context, scratch);
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static ssm2d_status measure(const work *w, evaluation *r, ssm2d_error *error)
{
    const double images = w->totals[TOTAL_IMAGES];
    const int values = w->t->values;
    double loss = 0, sums[TASK_VALUES] = {0};
    r->stopped = w->totals[TOTAL_STOPPED] > 0;
    if (r->stopped) return SSM2D_OK;
    r->images = (size_t)images;
    if (!r->images) return fail(error, SSM2D_ERROR_ARGUMENT, "evaluation: no image could be read");
    for (size_t i = 0; i < w->places; i++) {
        loss += w->losses[i];
        for (int k = 0; k < values; k++) sums[k] += w->values[i * (size_t)values + (size_t)k];
    }
    r->loss = loss / images;
    r->metric_count = task_metric_count(w->t, w->shape.outputs);
    for (int k = 0; k < TASK_METRICS && w->t->metrics[k].key; k++)
        r->metrics[k] = task_score(w->t, &w->shape, sums[k], images);
    const task_detail detail = {r->images, w->places, w->values, w->counts, w->shape};
    if (w->t->measure) w->t->measure(&detail, r->metrics);
    if (!isfinite(r->loss))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "evaluation: the outputs of the model are not finite");
    return SSM2D_OK;
}

static ssm2d_status reserve(work *w, ssm2d_error *error)
{
    const size_t values = (size_t)w->t->values;
    const int counts = w->t->counts && (w->hooks->detail || w->t->measure);
    w->places = loader_batches(w->images) * w->e->batch;
    w->count = w->places * (1 + values) + TOTALS;
    w->count_size = counts ? w->t->counts(&w->shape) : 0;
    w->losses = mem_alloc(w->e->context, w->count * sizeof *w->losses);
    w->counts = counts ? mem_alloc(w->e->context, w->count_size * sizeof *w->counts) : NULL;
    if (!w->losses || (counts && !w->counts))
        return fail_memory(error, "results of %zu images", w->places);
    w->values = w->losses + w->places;
    w->totals = w->values + w->places * values;
    return SSM2D_OK;
}

static ssm2d_status keep_detail(const work *w, const evaluation *r, task_detail *d,
                                ssm2d_error *error)
{
    const size_t count = w->places * (size_t)w->t->values;
    double *values = mem_alloc(w->e->context, (count + 1) * sizeof *values);
    if (!values) return fail_memory(error, "results of %zu images", w->places);
    memcpy(values, w->values, count * sizeof *values);
    *d = (task_detail){r->images, w->places, values, w->counts, w->shape};
    return SSM2D_OK;
}

ssm2d_status evaluate(evaluator *e, loader *images, const task *t, loss_kind loss,
                      const evaluation_hooks *hooks, evaluation *result, ssm2d_error *error)
{
    static const evaluation_hooks none;
    cluster *c = hooks && hooks->cluster && hooks->cluster->size > 1 ? hooks->cluster : NULL;
    work w = {.e = e,
              .images = images,
              .t = t,
              .loss = loss,
              .hooks = hooks ? hooks : &none,
              .rank = c ? c->rank : 0,
              .size = c ? c->size : 1,
              .shape = task_shape_of(&e->config)};
    *result = (evaluation){0};
    if (!task_allows_loss(t, loss))
        return fail(error, SSM2D_ERROR_ARGUMENT, "loss=%s: the data have %s: use %s",
                    loss_at(loss)->name, t->labels, loss_at(t->losses[0])->name);
    ssm2d_status status = reserve(&w, error);
    if (!status) status = evaluate_batches(&w, error);
    if (c) status = join(&w, c, status, error);
    if (!status) status = measure(&w, result, error);
    if (!status && !result->stopped && w.hooks->detail) {
        status = keep_detail(&w, result, w.hooks->detail, error);
        if (!status) w.counts = NULL; /* the caller owns them now */
    }
    mem_free(e->context, w.losses);
    mem_free(e->context, w.counts);
    return status;
}

void evaluation_detail_free(const ssm2d_context *context, task_detail *d)
{
    mem_free(context, d->values);
    mem_free(context, d->counts);
    *d = (task_detail){0};
}

ssm2d_status evaluation_confusion(const ssm2d_context *context, const task *t, const task_detail *d,
                                  confusion_cell **cells, size_t *count, ssm2d_error *error)
{
    confusion_cell *list = mem_alloc(context, (d->images + 1) * sizeof *list);
    size_t n = 0;
    *cells = list;
    *count = 0;
    if (!list) return fail_memory(error, "results of %zu images", d->images);
    for (size_t i = 0; i < d->places; i++) {
        confusion_cell cell = {.count = 1};
        if (t->pair(d, i, &cell.truth, &cell.predicted)) list[n++] = cell;
    }
    *count = confusion_cells_merge(list, n);
    return SSM2D_OK;
}

/* ---- images that loaders skipped, over all processes ----------------------------------------- */

typedef struct skipped {
    size_t count;
    ssm2d_error first;
} skipped;

/* Counts the images that at least one process could not read. */
static ssm2d_status count_bad(const ssm2d_context *context, cluster *c, loader *l, size_t *count,
                              ssm2d_error *error)
{
    enum { PART = 1 << 16 };
    size_t images;
    const uint8_t *is_bad = loader_bad_images(l, &images);
    size_t *processes = mem_alloc(context, images * sizeof *processes);
    double *scratch = mem_alloc(context, 2 * PART * sizeof *scratch);
    ssm2d_status status = processes && scratch ? SSM2D_OK : fail_memory(error, "counting images");
    status = cluster_agree(c, status, error);
    for (size_t i = 0; i < images && !status; i++) processes[i] = is_bad[i];
    if (!status) status = join_counts(c, processes, images, scratch, PART, error);
    *count = 0;
    for (size_t i = 0; i < images && !status; i++) *count += processes[i] > 0;
    mem_free(context, processes);
    mem_free(context, scratch);
    return status;
}

ssm2d_status skipped_total(const ssm2d_context *context, cluster *c, loader *l, size_t *count,
                           ssm2d_error *first, ssm2d_error *error)
{
    skipped own = {0};
    own.count = *count = loader_skipped(l, &own.first);
    *first = own.first;
    if (c->size == 1) return SSM2D_OK;
    skipped *all = mem_alloc(context, (size_t)c->size * sizeof *all);
    ssm2d_status status = all ? SSM2D_OK : fail_memory(error, "counting images");
    status = cluster_agree(c, status, error);
    if (!status) status = cluster_gather(c, &own, sizeof own, all, error);
    size_t sum = 0;
    for (int i = c->size - 1; i >= 0 && !status; i--) {
        sum += all[i].count;
        if (all[i].count) *first = all[i].first;
    }
    if (!status && sum) status = count_bad(context, c, l, count, error);
    mem_free(context, all);
    return status;
}
