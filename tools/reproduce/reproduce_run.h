/* reproduce_run - runs what is planned, one run after the other, beside other processes that work
 * on the same folder. */
#ifndef SSM2D_TOOLS_REPRODUCE_RUN_H
#define SSM2D_TOOLS_REPRODUCE_RUN_H

#include "reproduce_result.h"

typedef struct reproduce_job {
    ssm2d_context *context;
    const plan *plan;
    int no_wait; /* for runs that other processes have claimed */
    /* called after each run that has ended here */
    ssm2d_status (*ended)(void *user, ssm2d_error *error);
    void *user;
} reproduce_job;

typedef struct reproduce_outcome {
    int stopped;   /* by a signal; all is saved */
    int failed;    /* runs */
    int elsewhere; /* runs that other processes were still at; with no_wait alone */
    ssm2d_error first_failure;
} reproduce_outcome;

/* Trains every run that has no result. One that fails is recorded with its message, and the others
 * go on; one that failed before is tried again. */
ssm2d_status reproduce_run_all(const reproduce_job *job, reproduce_outcome *out,
                               ssm2d_error *error);

#endif
