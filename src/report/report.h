/* report - one self-contained HTML page about one or several runs: curves, tables with mean and
 * spread over seeds, what the models get wrong, kernels, receptive fields, settings.
 *
 * A part that cannot be made (data that are gone, a run without weights) is named in the page, and
 * the rest is there. Nothing is printed; hooks report the progress. */
#ifndef SSM2D_REPORT_REPORT_H
#define SSM2D_REPORT_REPORT_H

#include "models/model.h"
#include "ssm2d.h"

/* The time of all nodes of one operator in a training step, in milliseconds. */
typedef struct report_operator {
    const char *name; /* lives as long as the program */
    int nodes;
    double forward, backward;
} report_operator;

enum { REPORT_OPERATORS = 32 };

typedef struct report_hooks {
    void *user;
    /* what is being done, of which run, and how far that is; NULL: nobody asks */
    void (*progress)(void *user, const char *what, const char *run, size_t done, size_t of);
    /* Measures a training step of a model; returns the operators, the slowest first, in ops[] and
     * their number in *count. NULL: times are left out of the page. */
    ssm2d_status (*measure)(void *user, ssm2d_context *context, const model_config *config,
                            size_t batch, report_operator ops[REPORT_OPERATORS], int *count,
                            ssm2d_error *error);
} report_hooks;

typedef struct report_options {
    int no_data;    /* leave out what needs the images of the runs */
    int no_measure; /* leave out the time per operator */
    report_hooks hooks;
} report_options;

/* Writes the page of the runs in these folders to `output`, replacing what is there once it is
 * complete. Refuses a folder that is not a run's. A file NAME.failed, as `ssm2d reproduce` leaves
 * it beside the folder of a run that failed, stands for that run. */
ssm2d_status report_write(ssm2d_context *context, const char *const *folders, int count,
                          const char *output, const report_options *options, ssm2d_error *error);

#endif
