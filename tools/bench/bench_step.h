/* bench_step - a training step like that of src/train, in one process or several, on random images;
 * used to time data-parallel training. */
#ifndef SSM2D_TOOLS_BENCH_STEP_H
#define SSM2D_TOOLS_BENCH_STEP_H

#include "cluster/cluster.h"
#include "models/model.h"
#include "train/batch_gradient.h"

typedef struct bench_step bench_step;

typedef struct bench_step_setup {
    ssm2d_context *context;
    cluster *cluster;
    const model_config *config;
    size_t batch; /* of all processes */
    int slices;   /* see batch_gradient.h */
    int unordered;
} bench_step_setup;

ssm2d_status bench_step_create(const bench_step_setup *setup, bench_step **out, ssm2d_error *error);
void bench_step_destroy(bench_step *b);

/* Runs a step: gradient, its sum over processes, the loss, update. */
ssm2d_status bench_step_run(bench_step *b, ssm2d_error *error);

typedef struct bench_step_cost {
    double ms;               /* of a step */
    double working, waiting; /* ms of it in communication, overlapped with computing and not */
    double bytes;            /* that this process sends in a step */
} bench_step_cost;

/* Runs steps for `seconds`, but at least three, and the same number in all processes. *cost has the
 * median time of a step of the slowest process, and means of the other values. */
ssm2d_status bench_step_measure(bench_step *b, double seconds, bench_step_cost *cost,
                                ssm2d_error *error);

/* The computation of a step without communication, in milliseconds: the node visits of one slice's
 * forward and backward in order, visits[bench_step_visits], and the update; means over `seconds`,
 * of the slowest process. All processes compute at the same time, as they do in a step. */
int bench_step_visits(bench_step *b);
ssm2d_status bench_step_timeline(bench_step *b, double seconds, double *visits, double *update,
                                 ssm2d_error *error);
const batch_gradient *bench_step_gradient(const bench_step *b);

/* Times the step of all processes with the ordered and the unordered sum in alternation, and prints
 * the cost of each (bench_together.c). */
ssm2d_status bench_together(ssm2d_context *context, const model_config *config, size_t batch,
                            double seconds, int json, ssm2d_error *error);

#endif
