/* measure - how long a run would take, from a few of its steps. */
#ifndef SSM2D_TRAIN_MEASURE_H
#define SSM2D_TRAIN_MEASURE_H

#include "train/settings.h"

typedef struct train_cost {
    long epochs, epoch_steps, test_batches; /* test_batches: of one evaluation */
    double step_seconds;                    /* the median */
    double test_seconds;                    /* of a batch in an evaluation */
} train_cost;

enum { MEASURE_MAX_STEPS = 16 };

/* Makes so many steps of a run, or fewer that take long, after one that is not timed, and one batch
 * of an evaluation; with steps 0 it makes none, and leaves the seconds as they are. Nothing is
 * written. */
ssm2d_status train_measure(ssm2d_context *context, const train_settings *settings, int steps,
                           train_cost *cost, ssm2d_error *error);
/* Returns the seconds of the whole run. */
double train_cost_seconds(const train_cost *cost);

#endif
