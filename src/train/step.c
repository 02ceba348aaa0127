/* step - one step of training: a batch, its gradient, the update. */
#include "core/arith.h"
#include "core/clock.h"
#include "core/status.h"
#include "io/text.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

/* ---- slices of the batch --------------------------------------------------------------------- */

/* The index in the batch of the first image of a slice of this process. */
static size_t first_image(const trainer *t, int slice)
{
    const int own = batch_gradient_own(t->batch_gradient);
    return row_major(t->cluster->rank, own, slice) * t->images->shape[0];
}

/* Sets the inputs of the graph to those of a slice of this process. */
static void set_slice(const trainer *t, const loader_batch *batch, int slice)
{
    const size_t image = t->images->count / t->images->shape[0], first = first_image(t, slice);
    /* the graph only reads them */
    t->images->data = (float *)batch->images + first * image;
    t->targets->data = (float *)batch->targets + first * t->targets->shape[1];
}

/* The sum over the slice for the task's first metric (task_score). */
static double score(const trainer *t)
{
    const size_t count = t->targets->shape[0], elements = t->targets->shape[1],
                 size = t->out->count / count;
    const task_shape shape = task_shape_of(&t->settings.model);
    double values[TASK_VALUES], sum = 0;
    for (size_t i = 0; i < count; i++) {
        t->task->judge(t->out->data + i * size, t->targets->data + i * elements, &shape, values);
        sum += values[0];
    }
    return sum;
}

static void run_slices(trainer *t, const loader_batch *batch)
{
    batch_gradient *b = t->batch_gradient;
    for (int i = 0; i < batch_gradient_own(b); i++) {
        slice_sums own;
        set_slice(t, batch, i);
        if (!batch_gradient_forward(b, i, &own.loss)) return;
        own.score = score(t);
        batch_gradient_backward(b, i, own);
    }
}

/* ---- reports of all processes ---------------------------------------------------------------- */

/* Combines the reports. Losses and scores are added in the order of the tree of slices. */
static ssm2d_status join_reports(trainer *t, const step_report *own, step_result *result,
                                 int *failed, ssm2d_error *error)
{
    const size_t size = (size_t)t->cluster->size;
    const step_report *all = t->reports;
    ssm2d_status status = SSM2D_OK;
    if (size > 1)
        status = cluster_gather(t->cluster, own, sizeof *own, t->reports, error);
    else
        t->reports[0] = *own;
    if (status) return status;
    *result = (step_result){0};
    *failed = 0;
    for (size_t i = 0; i < size; i++) {
        t->losses[i] = all[i].sums.loss;
        t->scores[i] = all[i].sums.score;
        result->waited = fmax(result->waited, all[i].waited);
        result->stop |= all[i].stop;
        result->save |= all[i].save;
        result->abandoned |= all[i].abandoned;
        *failed |= all[i].failed;
    }
    result->loss = slice_tree_sum(t->losses, (int)size) / t->slices;
    result->score = slice_tree_sum(t->scores, (int)size);
    return SSM2D_OK;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Returns the name of the first tensor that is not finite in a slice of this process; or NULL. */
static const char *find_bad(trainer *t, const loader_batch *batch)
{
    const int own = batch_gradient_own(t->batch_gradient);
    const char *name = NULL;
    graph_bind(t->graph, t->state.arrays.weights, t->gradients);
    for (int i = 0; i < own && !name; i++) {
        set_slice(t, batch, i);
        t->graph->slice = row_major(t->cluster->rank, own, i);
        name = graph_find_bad(t->graph);
    }
    return name;
}

/* Returns the error for a loss or gradient that is not finite. Repeats the step to find the first
 * tensor that is not finite; a process that finds none lets another report it. */
static ssm2d_status not_finite(trainer *t, const loader_batch *batch, const char *what,
                               ssm2d_error *error)
{
    const char *name = find_bad(t, batch);
    ssm2d_error line;
    fail(&line, SSM2D_ERROR_ARGUMENT,
         "step %ld: the %s is not finite; first in %s. Last good checkpoint: %s, step %ld. "
         "Start again with a lower lr, or with clip=1",
         t->state.step + 1, what, name ? name : "no tensor", text_path(t->saved_path),
         t->saved_step);
    ssm2d_status status = SSM2D_OK;
    if (name || t->cluster->size == 1) status = fail(error, SSM2D_ERROR_ARGUMENT, "%s", line.line);
    status = trainer_agree(t, status, error);
    return status ? status : fail(error, SSM2D_ERROR_ARGUMENT, "%s", line.line);
}

static void update(trainer *t, step_result *result)
{
    train_state *s = &t->state;
    const train_options *o = &t->settings.options;
    result->lr = schedule_at(&t->schedule, s->step);
    double factor = o->clip > 0 && result->norm > o->clip ? o->clip / result->norm : 1;
    optimizer_step how = {.settings = t->optimizer,
                          .lr = result->lr,
                          .t = s->step + 1,
                          .factor = factor,
                          .count = s->count,
                          .span_count = t->span_count,
                          .spans = t->spans,
                          .weights = s->arrays.weights,
                          .gradients = t->gradients};
    memcpy(how.arrays, s->arrays.optimizer_arrays, sizeof how.arrays);
    optimizer_update(t->context, s->arrays.optimizer, &how);
    s->step++;
    if (s->arrays.average) {
        /* a shorter average at first, so that the initial weights lose their influence early */
        double early = (1 + (double)s->step) / (10 + (double)s->step);
        average_update(t->context, fmin(early, o->ema), s->count, s->arrays.weights,
                       s->arrays.average);
    }
}

/* Adds the remedy to the message about an image that could not be read. */
static void advise(const trainer *t, ssm2d_status status, ssm2d_error *error)
{
    if (!error || t->settings.options.bad_images != TRAIN_BAD_STOP) return;
    const ssm2d_error why = *error;
    fail(error, status, "%.400s; --bad-images skip leaves out images that cannot be read",
         why.line);
}

/* Fails if a matrix product of the step could not be computed. */
static ssm2d_status check_memory(const trainer *t, ssm2d_error *error)
{
    if (!t->graph->out_of_memory) return SSM2D_OK;
    return fail_memory(error,
                       "step %ld: matrix product of oneDNN. Last good checkpoint: %s, step %ld",
                       t->state.step + 1, text_path(t->saved_path), t->saved_step);
}

/* A process that cannot read its images still takes part in the step, so that no other waits for
 * it; afterwards all processes fail. */
ssm2d_status trainer_step(trainer *t, step_result *result, ssm2d_error *error)
{
    const int several = t->cluster->size > 1;
    const double waited = loader_waited(t->train_loader);
    loader_batch batch;
    const ssm2d_status data = loader_next(t->train_loader, &batch, error);
    step_report own = {.waited = loader_waited(t->train_loader) - waited};
    ssm2d_error lost;
    int failed;
    t->graph->step = (uint64_t)t->state.step;
    batch_gradient_begin(t->batch_gradient, several ? t->control : NULL);
    if (!data) run_slices(t, &batch);
    ssm2d_status status =
        batch_gradient_finish(t->batch_gradient, &own.sums, &own.abandoned, &lost);
    const ssm2d_status computed = data ? data : check_memory(t, error);
    own.failed = computed != SSM2D_OK;
    own.stop = several && run_stop_requested(t->control);
    own.save = clock_seconds() > t->save_at;
    if (!status) status = join_reports(t, &own, result, &failed, &lost);
    if (status) return fail(error, status, "%s", lost.line);
    if (data && data != SSM2D_ERROR_MEMORY) advise(t, data, error);
    if (failed) return trainer_agree(t, computed, error);
    if (result->abandoned) return SSM2D_OK;
    batch_gradient_move_state(t->batch_gradient);
    if (!isfinite(result->loss)) return not_finite(t, &batch, "loss", error);
    result->norm = gradient_norm(t->context, t->state.count, t->gradients, t->partial);
    if (!isfinite(result->norm)) return not_finite(t, &batch, "gradient", error);
    update(t, result);
    return SSM2D_OK;
}
