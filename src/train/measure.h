/* measure - estimates how long a run takes, by timing a few of its steps. */
#ifndef SSM2D_TRAIN_MEASURE_H
#define SSM2D_TRAIN_MEASURE_H

#include "train/settings.h"

typedef struct train_cost {
    long epochs, epoch_steps, test_batches; /* test_batches: of one evaluation */
    double step_seconds;                    /* the median */
    double test_seconds;                    /* of a batch in an evaluation */
} train_cost;

enum { MEASURE_MAX_STEPS = 16 };

/* Times this number of steps, or fewer if they take long, after one that is not timed, and one
 * batch of an evaluation. With steps = 0 it runs none and leaves the seconds unchanged. Writes no
 * files. */
ssm2d_status train_measure(ssm2d_context *context, const train_settings *settings, int steps,
                           train_cost *cost, ssm2d_error *error);
/* Returns the seconds of the whole run. */
double train_cost_seconds(const train_cost *cost);

#endif
