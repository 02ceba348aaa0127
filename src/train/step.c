/* step - one step of training: a batch, its gradient, the update. */
#include "core/status.h"
#include "data/targets.h"
#include "io/text.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

int trainer_decisions(const trainer *t)
{
    return label_decisions(loader_labels(t->train_loader), t->settings.model.classes);
}

/* ---- slices of the batch --------------------------------------------------------------------- */

typedef struct step {
    trainer *t;
    const step_hooks *hooks;
    loader_batch batch;
    long correct;
} step;

/* The first image of a slice of this process. */
static size_t first_image(const trainer *t, int slice)
{
    const int own = batch_gradient_own(t->batch_gradient);
    return (size_t)(t->cluster->rank * own + slice) * t->images->shape[0];
}

static const float *slice_targets(const step *s, int slice)
{
    return s->batch.targets + first_image(s->t, slice) * s->t->targets->shape[1];
}

static void begin_slice(void *user, int slice)
{
    const step *s = user;
    const trainer *t = s->t;
    const size_t image = t->images->count / t->images->shape[0];
    /* the graph only reads them */
    t->images->data = (float *)s->batch.images + first_image(t, slice) * image;
    t->targets->data = (float *)slice_targets(s, slice);
}

static void count_correct(void *user, int slice)
{
    step *s = user;
    const trainer *t = s->t;
    const label_kind labels = loader_labels(t->train_loader);
    const size_t classes = t->targets->shape[1];
    const float *targets = slice_targets(s, slice);
    for (size_t i = 0; i < t->targets->shape[0]; i++)
        s->correct += label_correct(labels, (int)classes, t->logits->data + i * classes,
                                    targets + i * classes);
}

static int asks_to_stop(void *user)
{
    const step *s = user;
    return s->hooks->stop && s->hooks->stop(s->hooks->user);
}

/* ---- what processes tell each other ---------------------------------------------------------- */

/* Joins what all report. Losses are added in the order of the slices' tree. */
static ssm2d_status join_reports(trainer *t, const step_report *own, step_result *result,
                                 int *failed, ssm2d_error *error)
{
    const size_t size = (size_t)t->cluster->size;
    const step_report *all = t->reports;
    ssm2d_status status = cluster_gather(t->cluster, own, sizeof *own, t->reports, error);
    if (status) return status;
    *result = (step_result){0};
    *failed = 0;
    for (size_t i = 0; i < size; i++) {
        t->losses[i] = all[i].loss;
        result->correct += (long)all[i].correct;
        result->waited = fmax(result->waited, all[i].waited);
        result->stop |= all[i].stop;
        result->save |= all[i].save;
        result->abandoned |= all[i].abandoned;
        *failed |= all[i].failed;
    }
    result->loss = slice_tree_sum(t->losses, (int)size) / t->slices;
    return SSM2D_OK;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Returns the name of the first tensor that is not finite in a slice of this process; or NULL. */
static const char *find_bad(step *s)
{
    trainer *t = s->t;
    const char *name = NULL;
    graph_bind(t->graph, t->state.weights, t->gradients);
    for (int i = 0; i < batch_gradient_own(t->batch_gradient) && !name; i++) {
        begin_slice(s, i);
        t->graph->slice = (uint64_t)(t->cluster->rank * batch_gradient_own(t->batch_gradient) + i);
        name = graph_find_bad(t->graph);
    }
    return name;
}

/* Returns the error for a loss or gradient that is not finite. Runs the step once more to find the
 * first tensor that is not; of several processes, those that find none leave the word to others. */
static ssm2d_status not_finite(step *s, const char *what, ssm2d_error *error)
{
    trainer *t = s->t;
    const char *name = find_bad(s);
    ssm2d_error line;
    fail(&line, SSM2D_ERROR_ARGUMENT,
         "step %ld: the %s is not finite; first in %s. Last good checkpoint: %s, step %ld. "
         "Start again with a lower lr, or with clip=1",
         t->state.step + 1, what, name ? name : "no tensor", text_path(s->hooks->good),
         s->hooks->good_step);
    ssm2d_status status = SSM2D_OK;
    if (name || t->cluster->size == 1) status = fail(error, SSM2D_ERROR_ARGUMENT, "%s", line.line);
    status = cluster_agree(t->cluster, status, error);
    return status ? status : fail(error, SSM2D_ERROR_ARGUMENT, "%s", line.line);
}

static void update(trainer *t, step_result *result)
{
    train_state *s = &t->state;
    const train_options *o = &t->settings.options;
    result->lr = schedule_at(&t->schedule, s->step);
    double factor = o->clip > 0 && result->norm > o->clip ? o->clip / result->norm : 1;
    adamw_update(t->context, &t->adamw, result->lr, s->step + 1, factor, s->count, t->spans,
                 t->span_count, s->weights, t->gradients, s->moment1, s->moment2);
    s->step++;
    if (s->average) { /* a short average at first, so that the initial weights are soon forgotten */
        double early = (1 + (double)s->step) / (10 + (double)s->step);
        average_update(t->context, fmin(early, o->ema), s->count, s->weights, s->average);
    }
}

/* Adds to the message about an image that could not be read what can be done. */
static void advise(const trainer *t, ssm2d_status status, ssm2d_error *error)
{
    if (!error || t->settings.options.bad_images != TRAIN_BAD_STOP) return;
    const ssm2d_error why = *error;
    fail(error, status, "%.400s; --bad-images skip leaves out images that cannot be read",
         why.line);
}

/* A process that cannot have its images takes part in the step all the same, so that no other waits
 * for it, and fails after it, with all of them. */
ssm2d_status trainer_step(trainer *t, const step_hooks *hooks, step_result *result,
                          ssm2d_error *error)
{
    step s = {.t = t, .hooks = hooks};
    const slice_hooks slices = {&s, begin_slice, count_correct,
                                t->cluster->size > 1 ? asks_to_stop : NULL};
    const double waited = loader_waited(t->train_loader);
    const ssm2d_status data = loader_next(t->train_loader, &s.batch, error);
    step_report own = {.waited = loader_waited(t->train_loader) - waited, .failed = data != 0};
    ssm2d_error lost;
    int failed;
    t->graph->step = (uint64_t)t->state.step;
    ssm2d_status status = batch_gradient_run(t->batch_gradient, data ? NULL : &slices, &own.loss,
                                             &own.abandoned, &lost);
    own.correct = s.correct;
    own.stop = t->cluster->size > 1 && asks_to_stop(&s);
    own.save = hooks->save && hooks->save(hooks->user);
    if (!status) status = join_reports(t, &own, result, &failed, &lost);
    if (status) return fail(error, status, "%s", lost.line);
    if (data && data != SSM2D_ERROR_MEMORY) advise(t, data, error);
    if (failed) return cluster_agree(t->cluster, data, error);
    if (result->abandoned) return SSM2D_OK;
    batch_gradient_move_state(t->batch_gradient);
    if (!isfinite(result->loss)) return not_finite(&s, "loss", error);
    result->norm = gradient_norm(t->context, t->state.count, t->gradients, t->partial);
    if (!isfinite(result->norm)) return not_finite(&s, "gradient", error);
    update(t, result);
    return SSM2D_OK;
}
