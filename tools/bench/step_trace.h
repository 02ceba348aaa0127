/* step_trace - the times of all tasks of a model's step, recorded with one thread.
 *
 * A step is a list of items: the work before a run of the pool, and the tasks of the run; or only
 * work. Steps repeat the same items, so a time is the median over several steps, which excludes
 * disturbances by other processes. */
#ifndef SSM2D_TOOLS_STEP_TRACE_H
#define SSM2D_TOOLS_STEP_TRACE_H

#include "bench_model.h"

typedef struct trace_item {
    const char *op; /* NULL: between operators */
    int backward;
    size_t tasks, first; /* times[first]: the work before; times[first + 1 ..]: the tasks */
} trace_item;

/* Times are medians over the steps recorded, in seconds. Belongs to the trace. */
typedef struct step_record {
    const trace_item *items;
    size_t count;
    const double *times;
} step_record;

typedef struct step_trace step_trace;

/* Until the trace is destroyed, the context splits work into tasks for `threads` threads and runs
 * them on the caller's thread. */
ssm2d_status step_trace_create(ssm2d_context *context, int threads, int max_steps, step_trace **out,
                               ssm2d_error *error);
void step_trace_destroy(step_trace *t);
/* Runs and records a step of the model, which has the context of the trace. */
ssm2d_status step_trace_record(step_trace *t, bench_model *m, ssm2d_error *error);
/* Call this once, after the last step. */
ssm2d_status step_trace_medians(step_trace *t, step_record *record, ssm2d_error *error);

#endif
