/* bench_step - a training step as src/train makes it, by one process or several together, on random
 * images: what several processes are timed with. */
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

/* Makes a step: gradient, its sum over processes, what they tell each other, update. */
ssm2d_status bench_step_run(bench_step *b, ssm2d_error *error);

typedef struct bench_step_cost {
    double ms;               /* of a step */
    double working, waiting; /* ms of it in communication, beside computing and instead of it */
    double bytes;            /* that this process sends in a step */
} bench_step_cost;

/* Makes steps for `seconds`, three at least, all processes as many; *cost has the medians of the
 * slowest process's step, and means of the others. */
ssm2d_status bench_step_measure(bench_step *b, double seconds, bench_step_cost *cost,
                                ssm2d_error *error);

/* The computing of a step alone, in milliseconds: the visits of one slice's forward and backward in
 * their order, visits[bench_step_visits], and the update; means over `seconds`, of the slowest
 * process. All compute at the same time, as they do in a step. */
int bench_step_visits(bench_step *b);
ssm2d_status bench_step_timeline(bench_step *b, double seconds, double *visits, double *update,
                                 ssm2d_error *error);
const batch_gradient *bench_step_gradient(const bench_step *b);

#endif
