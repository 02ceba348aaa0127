/* report - one self-contained HTML page about one or several runs: curves, tables with mean and
 * spread over seeds, wrong predictions, kernels, receptive fields, settings.
 *
 * Parts that cannot be made (missing data, a run without weights) are listed in the page. Nothing
 * is printed; hooks report the progress. */
#ifndef SSM2D_REPORT_REPORT_H
#define SSM2D_REPORT_REPORT_H

#include "models/model.h"
#include "ssm2d.h"

/* The time of all nodes of one operator in a training step, in milliseconds. */
typedef struct report_operator {
    const char *name; /* static */
    int nodes;
    double forward, backward;
} report_operator;

enum { REPORT_OPERATORS = 32 };

typedef struct report_hooks {
    void *user;
    /* called with the current activity, the run, and how far it is; may be NULL */
    void (*progress)(void *user, const char *what, const char *run, size_t done, size_t of);
    /* Measures a training step of a model; returns the operators, slowest first, in ops[], and sets
     * *count. NULL: the page has no times. */
    ssm2d_status (*measure)(void *user, ssm2d_context *context, const model_config *config,
                            size_t batch, report_operator ops[REPORT_OPERATORS], int *count,
                            ssm2d_error *error);
} report_hooks;

typedef struct report_options {
    int no_data;    /* leave out the sections that need images */
    int no_measure; /* leave out the time per operator */
    report_hooks hooks;
} report_options;

/* Writes the page about the runs in these folders to `output`, which is replaced once the page is
 * complete. Refuses a folder that is not a run's. A file NAME.failed, which `ssm2d reproduce`
 * writes for a failed run, stands for the run NAME. */
ssm2d_status report_write(ssm2d_context *context, const char *const *folders, int count,
                          const char *output, const report_options *options, ssm2d_error *error);

#endif
