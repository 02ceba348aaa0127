/* reproduce_result - the result of a finished run of an experiment: RUN/result.json. */
#ifndef SSM2D_TOOLS_REPRODUCE_RESULT_H
#define SSM2D_TOOLS_REPRODUCE_RESULT_H

#include "reproduce_plan.h"
#include "train/training.h"

typedef struct run_result {
    double score;        /* of the last epoch, on test images, from 0 to 1 */
    double best;         /* of the best epoch, likewise */
    double top5;         /* of the last epoch; NAN when it was not measured */
    double images_per_s; /* of training; the median over epochs */
    double seconds;      /* of training and evaluation */
    double parameters;   /* that are learned */
    double epochs, best_epoch;
    double bytes; /* memory of a training step; NAN: not known */
    int sizes[PLAN_SIZES], size_count;
    double at_size[PLAN_SIZES]; /* as score, of test images of these sides */
    split_choice choice;        /* what the best epoch was chosen by */
} run_result;

typedef enum run_state {
    RUN_OPEN,   /* not begun */
    RUN_PARTLY, /* begun, and to be resumed */
    RUN_DONE,   /* has a result */
    RUN_FAILED  /* ended with a message, in RUN.failed */
} run_state;
const char *run_state_name(run_state state); /* "open" .. */

/* Whether a result has what the experiment needs of the run. */
int run_result_suffices(const run_result *result, const planned_run *run);
/* The score at a size; NAN when it was not measured. */
double run_result_at_size(const run_result *result, int size);

/* The state of a run, and its result if it is done. An unreadable result, or one that lacks what
 * the experiment needs, does not count: damaged, unless NULL, says why. */
run_state reproduce_state(const ssm2d_context *context, const planned_run *run, run_result *result,
                          ssm2d_error *damaged);
/* Epochs that a run has done, from its metrics; 0 when there are none. */
long reproduce_epochs_done(const ssm2d_context *context, const planned_run *run);

/* Computes the result of a run that has reached its end, and writes it. Values come from its
 * metrics if these have them, else from evaluating its weights on the test images. stop, which may
 * interrupt that, sets *stopped. */
ssm2d_status reproduce_finish(ssm2d_context *context, const planned_run *run,
                              const train_result *trained, size_t parameters, size_t bytes,
                              int (*stop)(void *user), int *stopped, ssm2d_error *error);

/* Reads and writes the values of a result as an object, whose accuracies are from 0 to `whole`: 1,
 * or 100 for percents. The caller handles what chose the best epoch. */
ssm2d_status run_result_from_json(const char *file, const cJSON *object, double whole,
                                  run_result *result, ssm2d_error *error);
int run_result_add_json(cJSON *object, double whole, const run_result *result); /* whether it was */

/* Writes a result with the settings of its run to path. */
ssm2d_status reproduce_result_write(const ssm2d_context *context, const planned_run *run,
                                    const char *path, const run_result *result, ssm2d_error *error);

/* Records the message of a run that failed, or removes it (message NULL). */
ssm2d_status reproduce_note_failure(const ssm2d_context *context, const planned_run *run,
                                    const char *message, ssm2d_error *error);
/* Reads it into message; 0 when there is none. */
int reproduce_failure(const ssm2d_context *context, const planned_run *run, char *message,
                      size_t size);

#endif
