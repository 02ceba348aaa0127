#include "train/measure.h"

#include "core/clock.h"
#include "train/trainer.h"

#include <assert.h>

static double median(double *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const double other = values[k];
            values[k] = values[k - 1];
            values[k - 1] = other;
        }
    return values[count / 2];
}

/* Steps that take longer than this are timed once, and such batches without one before them: a
 * large model on a small machine would otherwise be measured for minutes. */
static const double long_seconds = 5;

/* The first step and batch are not timed: they touch memory for the first time. */
static ssm2d_status time_steps(trainer *t, int steps, double *seconds, ssm2d_error *error)
{
    double times[MEASURE_MAX_STEPS];
    int timed = 0, is_long = 0;
    ssm2d_status status = trainer_seek(t, error);
    for (int i = -1; i < steps && !status && !(timed && is_long); i++) {
        step_result r;
        const double start = clock_seconds();
        status = trainer_step(t, &r, error);
        const double took = clock_seconds() - start;
        if (i >= 0) times[timed++] = took;
        is_long = took > long_seconds;
    }
    if (!status) *seconds = median(times, timed);
    return status;
}

static ssm2d_status time_evaluation(trainer *t, double *seconds, ssm2d_error *error)
{
    loader_batch batch;
    ssm2d_status status = SSM2D_OK;
    evaluator_weights(t->evaluator, trainer_weights(t));
    *seconds = 0;
    for (int i = 0; i < 2 && !status && *seconds <= long_seconds; i++) {
        const double start = clock_seconds();
        status = loader_next(t->choose_loader, &batch, error);
        if (!status && batch.count) evaluator_run(t->evaluator, batch.images, batch.count);
        *seconds = clock_seconds() - start;
    }
    return status;
}

ssm2d_status train_measure(ssm2d_context *context, const train_settings *settings, int steps,
                           train_cost *cost, ssm2d_error *error)
{
    trainer t = {0};
    weights_report report;
    cluster alone = cluster_alone();
    assert(steps >= 0 && steps <= MEASURE_MAX_STEPS);
    ssm2d_status status = trainer_create(context, &alone, settings, NULL, &t, error);
    if (!status) {
        cost->epochs = train_epochs(&t.settings.options);
        cost->epoch_steps = t.epoch_steps;
        cost->test_batches = (long)loader_batches(t.choose_loader);
    }
    if (!status && steps) {
        status = trainer_start(&t, &report, error);
        if (!status) status = time_steps(&t, steps, &cost->step_seconds, error);
        if (!status) status = time_evaluation(&t, &cost->test_seconds, error);
    }
    trainer_destroy(&t);
    return status;
}

double train_cost_seconds(const train_cost *c)
{
    return (double)c->epochs
           * ((double)c->epoch_steps * c->step_seconds + (double)c->test_batches * c->test_seconds);
}
