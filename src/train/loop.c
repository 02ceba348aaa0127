/* The training loop: steps, epochs, checkpoints, and the files written at the end of each. */
#include "core/clock.h"
#include "core/context.h"
#include "core/status.h"
#include "data/dataset.h"
#include "io/file.h"
#include "io/text.h"
#include "train/loss_note.h"
#include "train/machines.h"
#include "train/metrics.h"
#include "train/mixer_log.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct training {
    trainer *t;
    metrics *metrics;
    mixer_log mixers;
    const run_control *control;
    train_result *result;
    const char *folder;
    int lock; /* of the folder */
    char last[RUN_PATH], model[RUN_PATH], best[RUN_PATH], curves[RUN_PATH];
    double train_seconds, epoch_seconds; /* spent in steps: of this call, of this epoch */
    double test_seconds;                 /* of the last evaluation */
    long images, epoch_images;           /* trained on: in this call, in this epoch */
    double speed;                        /* images per second, over the last steps */
    double wait;                         /* fraction of the time that steps waited for images */
    double epoch_waited;                 /* seconds that steps waited in this epoch */
    ssm2d_error no_machine;              /* why machines.json was not updated; "": it was */
} training;

/* The first metric over the images of the current epoch so far. */
static double train_score(const trainer *t)
{
    const task_shape shape = task_shape_of(&t->settings.model);
    return task_score(t->task, &shape, t->state.score_sum, (double)t->state.images);
}

/* Only the first process writes to the run's folder. */
static int is_writer(const training *s) { return s->t->cluster->rank == 0; }

static double per_second(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

/* ---- saving ---------------------------------------------------------------------------------- */

/* Refuses to write if the folder was moved or replaced since it was locked. */
static ssm2d_status check_folder(const training *s, ssm2d_error *error)
{
    return run_still_there(s->folder, s->lock, error);
}

/* Writes a checkpoint. The metrics are synced first, so that the lines up to the checkpoint are on
 * the disk before it. */
static ssm2d_status write_checkpoint(training *s, ssm2d_error *error)
{
    trainer *t = s->t;
    const train_state *state = &t->state;
    const named_arrays list = train_arrays_list(&state->arrays);
    /* a checkpoint with such values could not be read, and would replace a good one */
    for (const named_array *a = list.at; a->name; a++)
        if (!isfinite(gradient_norm(t->context, state->count, a->values, t->partial)))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "step %ld: the array %s is not finite. Last good checkpoint: %s, step %ld. "
                        "Start again with a lower lr, or with clip=1",
                        state->step, a->name, text_path(s->last), t->saved_step);
    ssm2d_status status = check_folder(s, error);
    if (!status) status = metrics_sync(s->metrics, error);
    if (!status) status = checkpoint_write(t->context, s->last, &t->state, &t->identity, error);
    return status;
}

/* Records that the state is on the disk, and when to save next. The writer decides for all. */
static void note_saved(training *s)
{
    const double minutes = s->t->settings.options.save_minutes;
    s->t->saved_path = s->last;
    s->t->saved_step = s->t->state.step;
    s->t->save_at = is_writer(s) && minutes > 0 ? clock_seconds() + 60 * minutes : INFINITY;
}

/* Writes a checkpoint; all processes get the same status. */
static ssm2d_status save(training *s, ssm2d_error *error)
{
    const ssm2d_status status =
        trainer_agree(s->t, is_writer(s) ? write_checkpoint(s, error) : SSM2D_OK, error);
    if (!status) note_saved(s);
    return status;
}

static int step_to_save(const training *s)
{
    const train_options *o = &s->t->settings.options;
    return o->save_every && s->t->state.step % o->save_every == 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static ssm2d_status write_step(training *s, const step_result *r, ssm2d_error *error)
{
    train_state *state = &s->t->state;
    const ssm2d_status status =
        mixer_log_measure(&s->mixers, state->arrays.weights, s->t->gradients, error);
    if (status) return status;
    metric line = {.step = state->step,
                   .epoch = (double)state->step / (double)s->t->epoch_steps,
                   .loss = state->log_sum / (double)state->log_steps,
                   .lr = r->lr,
                   .norm = r->norm,
                   .blocks = s->mixers.blocks,
                   .mixer_norms = s->mixers.gradients,
                   .kernel_gains = s->mixers.gains,
                   .images_per_s = s->speed,
                   .wait = s->wait};
    return metrics_add(s->metrics, &line, error);
}

/* Steps between lines of metrics: short epochs have at least ten, enough for a curve. */
static long log_interval(const training *s)
{
    const long given = s->t->settings.options.log_every, tenth = s->t->epoch_steps / 10;
    return given ? given : tenth < 1 ? 1 : tenth > 50 ? 50 : tenth;
}

static ssm2d_status log_step(training *s, const step_result *r, ssm2d_error *error)
{
    train_state *state = &s->t->state;
    if (state->step % log_interval(s)) return SSM2D_OK;
    const ssm2d_status status = is_writer(s) ? write_step(s, r, error) : SSM2D_OK;
    state->log_sum = 0;
    state->log_steps = 0;
    return trainer_agree(s->t, status, error);
}

static void report_step(const training *s, const step_result *r)
{
    const train_state *state = &s->t->state;
    const long done = state->step - state->epochs * s->t->epoch_steps,
               epochs = train_epochs(&s->t->settings.options);
    const double images =
        (double)((epochs * s->t->epoch_steps - state->step) * s->t->settings.options.batch);
    if (!s->control->step) return;
    train_progress p = {.epoch = state->epochs + 1,
                        .epochs = epochs,
                        .step = done,
                        .steps = s->t->epoch_steps,
                        .task = s->t->task,
                        .loss = state->loss_sum / (double)done,
                        .score = train_score(s->t),
                        .lr = r->lr,
                        .images_per_s = s->speed,
                        .wait = s->wait,
                        .seconds_left =
                            images / s->speed + s->test_seconds * (double)(epochs - state->epochs)};
    s->control->step(s->control->user, &p);
}

/* Runs steps until the end of the epoch, or until a stop is requested. */
static ssm2d_status run_steps(training *s, ssm2d_error *error)
{
    train_state *state = &s->t->state;
    const long end = (state->epochs + 1) * s->t->epoch_steps, batch = s->t->settings.options.batch;
    const int alone = s->t->cluster->size == 1;
    ssm2d_status status = SSM2D_OK;
    while (state->step < end && !status && !s->result->stopped) {
        step_result r;
        const double start = clock_seconds();
        if ((status = trainer_step(s->t, &r, error))) break;
        if (r.abandoned) {
            s->result->stopped = 1;
            break;
        }
        const double seconds = clock_seconds() - start;
        state->loss_sum += r.loss;
        state->log_sum += r.loss;
        state->log_steps++;
        state->images += batch;
        state->score_sum += r.score;
        state->seconds += seconds;
        s->train_seconds += seconds;
        s->epoch_seconds += seconds;
        s->images += batch;
        s->epoch_images += batch;
        s->epoch_waited += r.waited;
        /* exponential moving averages over about twenty steps */
        const double wait = seconds > 0 ? r.waited / seconds : 0;
        s->wait = s->speed > 0 ? 0.95 * s->wait + 0.05 * wait : wait;
        s->speed = s->speed > 0 ? 1 / (0.95 / s->speed + 0.05 * seconds / (double)batch)
                                : (double)batch / seconds;
        status = log_step(s, &r, error);
        report_step(s, &r);
        if (!status && state->step < end && (r.save || step_to_save(s))) status = save(s, error);
        if (!status && (alone ? run_stop_requested(s->control) : r.stop)) s->result->stopped = 1;
    }
    return status;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static ssm2d_status evaluate_test(training *s, evaluation *e, ssm2d_error *error)
{
    trainer *t = s->t;
    const evaluation_hooks hooks = {s->control->user, s->control->stop, s->control->testing,
                                    .cluster = t->cluster};
    const double start = clock_seconds();
    evaluator_weights(t->evaluator, trainer_weights(t));
    const ssm2d_status status = evaluate(t->evaluator, t->choose_loader, t->task,
                                         (loss_kind)t->settings.options.loss, &hooks, e, error);
    s->test_seconds = clock_seconds() - start;
    t->state.seconds += s->test_seconds;
    if (status) return status;
    s->result->stopped = e->stopped;
    return SSM2D_OK;
}

/* Writes the files of an epoch: metrics, curves and weights. */
static ssm2d_status write_epoch(training *s, const metric *line, ssm2d_error *error)
{
    trainer *t = s->t;
    const train_options *o = &t->settings.options;
    char title[RUN_TITLE], parts[LOSS_PARTS], note[LOSS_NOTE];
    ssm2d_status status = metrics_add(s->metrics, line, error);
    run_title(&t->settings, title);
    if (!status) status = check_folder(s, error);
    loss_parts(&t->settings, t->task, parts);
    const char *below = loss_note(parts, line->validation ? "validation" : "test", note);
    if (!status) status = metrics_draw(s->metrics, s->curves, title, below, train_epochs(o), error);
    if (!status) status = check_folder(s, error);
    if (!status) status = weights_save(t->weights, s->model, trainer_weights(t), error);
    return status;
}

static ssm2d_status write_best(training *s, ssm2d_error *error)
{
    trainer *t = s->t;
    const ssm2d_status status = check_folder(s, error);
    return status ? status : weights_save(t->weights, s->best, trainer_weights(t), error);
}

/* All processes apply the same updates, so their weights stay the same; comparing them detects
 * faulty memory or processors. With reduce=unordered, MPI may add in a different order in each
 * process, so the weights of the first are sent to the others instead. */
static ssm2d_status compare_weights(trainer *t, ssm2d_error *error)
{
    if (t->cluster->size == 1) return SSM2D_OK;
    if (t->settings.options.reduce == TRAIN_REDUCE_UNORDERED) return trainer_share_state(t, error);
    return cluster_same(t->cluster, "weights", t->state.arrays.weights,
                        t->state.count * sizeof *t->state.arrays.weights, error);
}

/* Ends an epoch after its evaluation: metrics, curves, weights, and then the checkpoint that counts
 * the epoch as done. The weights of the best epoch are written after it, because they replace those
 * of another epoch: if that is interrupted, the run is resumed from a checkpoint that has them. */
static ssm2d_status end_epoch(training *s, const evaluation *e, ssm2d_error *error)
{
    trainer *t = s->t;
    train_state *state = &t->state;
    const train_options *o = &t->settings.options;
    const double loss = state->loss_sum / (double)t->epoch_steps, score = train_score(t),
                 test_score = e->metrics[0];
    const double speed = per_second((double)s->epoch_images, s->epoch_seconds);
    state->epochs++;
    const int best = !state->best_epoch || task_is_better(t->task, test_score, state->best);
    if (best) {
        state->best = test_score;
        state->best_epoch = state->epochs;
    }
    state->loss_sum = 0;
    state->score_sum = 0;
    state->images = 0;
    metric line = {.is_epoch = 1,
                   .step = state->step,
                   .epoch = (double)state->epochs,
                   .loss = loss,
                   .score = score,
                   .test_loss = e->loss,
                   .test_score = test_score,
                   .validation = t->choice != CHOICE_TEST,
                   .lr = schedule_at(&t->schedule, state->step - 1),
                   .images_per_s = speed,
                   .wait = per_second(s->epoch_waited, s->epoch_seconds),
                   .seconds = state->seconds};
    ssm2d_status status = compare_weights(t, error);
    if (!status)
        status = trainer_agree(t, is_writer(s) ? write_epoch(s, &line, error) : SSM2D_OK, error);
    if (!status) status = save(s, error);
    if (!status && best)
        status = trainer_agree(t, is_writer(s) ? write_best(s, error) : SSM2D_OK, error);
    if (status) return status;
    s->result->test_loss = e->loss;
    s->result->test_score = test_score;
    train_epoch report = {.epoch = state->epochs,
                          .epochs = train_epochs(o),
                          .task = t->task,
                          .loss = loss,
                          .score = score,
                          .test_loss = e->loss,
                          .test_score = test_score,
                          .images_per_s = speed,
                          .wait = line.wait,
                          .seconds = s->epoch_seconds + s->test_seconds,
                          .best = best,
                          .choice = t->choice};
    s->epoch_seconds = s->epoch_waited = 0;
    s->epoch_images = 0;
    if (s->control->epoch) s->control->epoch(s->control->user, &report);
    return SSM2D_OK;
}

static ssm2d_status run_epochs(training *s, ssm2d_error *error)
{
    train_state *state = &s->t->state;
    ssm2d_status status = SSM2D_OK;
    while (state->epochs < train_epochs(&s->t->settings.options) && !status) {
        evaluation e;
        status = run_steps(s, error);
        if (!status && !s->result->stopped) status = evaluate_test(s, &e, error);
        if (!status && s->result->stopped) return save(s, error);
        if (!status) status = end_epoch(s, &e, error);
        if (!status) status = trainer_agree(s->t, check_images_met(s->t, error), error);
    }
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void report_start(const training *s, const start_info *how)
{
    const trainer *t = s->t;
    if (!s->control->start) return;
    const dataset_info *train = dataset_about(t->train_data),
                       *choose = dataset_about(t->choose_data);
    /* held-out images are in the same folder, whose ignored files are counted once */
    const size_t ignored = train->ignored + (t->choice == CHOICE_HELD_OUT ? 0 : choose->ignored);
    int splits = 0;
    if (dataset_splits(t->settings.options.data, &splits, NULL)) splits = 0;
    train_start start = {.settings = &t->settings,
                         .task = t->task,
                         .parameters = t->weights->learned,
                         .train_images = train->count,
                         .choose_images = choose->count,
                         .choice = t->choice,
                         .has_test = (splits & DATASET_HAS(TEST)) != 0,
                         .step = t->state.step,
                         .steps = train_epochs(&t->settings.options) * t->epoch_steps,
                         .epoch_steps = t->epoch_steps,
                         .bytes = t->graph->bytes,
                         .read = how->read,
                         .loss_changed = t->loss_changed,
                         .old_epochs = how->old_epochs,
                         .restored = how->restored,
                         .no_machine = *s->no_machine.line ? s->no_machine.line : NULL,
                         .ignored = ignored,
                         .first_ignored =
                             train->ignored ? train->first_ignored : choose->first_ignored,
                         .chosen = t->chosen,
                         .checked = how->checked};
    s->control->start(s->control->user, &start);
}

/* Counts the images that could not be read, of both loaders. */
static ssm2d_status count_skipped(trainer *t, train_result *result, ssm2d_error *error)
{
    ssm2d_error other;
    size_t more = 0;
    ssm2d_status status = skipped_total(t->context, t->cluster, t->train_loader, &result->skipped,
                                        &result->first_skipped, error);
    if (!status)
        status = skipped_total(t->context, t->cluster, t->choose_loader, &more, &other, error);
    if (more && !result->skipped) result->first_skipped = other;
    result->skipped += more;
    return status;
}

/* Adds this machine to machines.json. That file only describes the run, so the run continues if it
 * is damaged. */
static ssm2d_status record_machine(training *s, const char *path, ssm2d_error *error)
{
    const trainer *t = s->t;
    ssm2d_error why;
    const ssm2d_status status =
        machines_add(t->context, path, t->state.step, t->cluster->size, &why);
    if (status != SSM2D_ERROR_ARGUMENT)
        return status ? fail(error, status, "%s", why.line) : status;
    s->no_machine = why;
    return SSM2D_OK;
}

/* Opens and writes the files that a run has from the beginning. */
static ssm2d_status open_files(training *s, const start_info *how, ssm2d_error *error)
{
    const trainer *t = s->t;
    char path[RUN_PATH], config[RUN_PATH], data[RUN_PATH], train[RUN_PATH], machines[RUN_PATH];
    ssm2d_status status;
    if ((status = run_path(s->folder, RUN_MODEL, s->model, error))
        || (status = run_path(s->folder, RUN_BEST, s->best, error))
        || (status = run_path(s->folder, RUN_CURVES, s->curves, error))
        || (status = run_path(s->folder, RUN_METRICS, path, error))
        || (status = run_path(s->folder, RUN_CONFIG, config, error))
        || (status = run_path(s->folder, RUN_DATA, data, error))
        || (status = run_path(s->folder, RUN_MACHINES, machines, error))
        || (status = run_path(s->folder, RUN_TRAIN, train, error)))
        return status;
    if (how->is_new && (status = file_write_text(t->context, train, t->settings_text, error)))
        return status;
    if ((status = metrics_open(t->context, path, t->task, t->state.step, t->state.epochs,
                               &s->metrics, error)))
        return status;
    if (how->is_new || access(config, F_OK))
        status = file_write_text(t->context, config, t->model_text, error);
    if (!status && (how->is_new || access(data, F_OK)))
        status = file_write_text(t->context, data, t->data_text, error);
    if (!status) status = record_machine(s, machines, error);
    if ((how->is_new || how->changed) && !status) status = write_checkpoint(s, error);
    if (!how->is_new && (how->changed || how->restored) && !status)
        status = file_write_text(t->context, train, t->settings_text, error);
    /* end_epoch may have been interrupted before it wrote the best weights */
    const train_state *state = &t->state;
    if (!how->is_new && state->epochs && state->best_epoch == state->epochs
        && state->step == state->epochs * t->epoch_steps && !status)
        status = write_best(s, error);
    if (!status) status = mixer_log_create(t->context, t->weights, &s->mixers, error);
    return status;
}

ssm2d_status train_loop(trainer *t, const char *folder, int lock, const start_info *how,
                        train_result *result, ssm2d_error *error)
{
    static const run_control none;
    training s = {.t = t,
                  .mixers = {.context = t->context},
                  .control = t->control ? t->control : &none,
                  .result = result,
                  .folder = folder,
                  .lock = lock};
    *result = (train_result){.begun = 1, .task = t->task};
    ssm2d_status status = run_path(folder, RUN_LAST, s.last, error);
    if (!status && is_writer(&s)) status = open_files(&s, how, error);
    note_saved(&s);
    if (!status) status = trainer_seek(t, error);
    status = trainer_agree(t, status, error);
    if (!status) report_start(&s, how);
    if (!status) status = run_epochs(&s, error);
    result->step = t->state.step;
    result->best_score = t->state.best;
    result->best_epoch = t->state.best_epoch;
    result->seconds = t->state.seconds;
    result->images_per_s = per_second((double)s.images, s.train_seconds);
    result->choice = t->choice;
    if (!status) status = count_skipped(t, result, error);
    metrics_close(s.metrics);
    mixer_log_destroy(&s.mixers);
    return status;
}
