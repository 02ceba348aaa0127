/* reproduce_run - executes the planned runs one after the other, beside other processes that use
 * the same folder. */
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
    int stopped;   /* by a signal; everything is saved */
    int failed;    /* runs */
    int elsewhere; /* runs that other processes have not finished; only with no_wait */
    ssm2d_error first_failure;
} reproduce_outcome;

/* Trains every run that has no result. If a run fails, its message is recorded and the others
 * continue; a run that failed before is tried again. */
ssm2d_status reproduce_run_all(const reproduce_job *job, reproduce_outcome *out,
                               ssm2d_error *error);

#endif
