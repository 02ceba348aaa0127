/* baseline_trial - for the tests of S4ND and EMA: a configuration on a grid with random arrays, and
 * running it with any algorithm, type and layout. */
#ifndef SSM2D_TESTS_BASELINE_TRIAL_H
#define SSM2D_TESTS_BASELINE_TRIAL_H

#include "problem.h"

ssm2d_layer s4nd_of(int channels, int n_ssm, int d_state, double rate);
ssm2d_layer ema_of(int channels, int d_state, int bidirectional, int shift, int trunc);

/* A configuration, a grid and arrays; `grid` is only for pack and unpack. */
typedef struct trial {
    ssm2d_layer layer;
    problem grid;
    size_t total, taps;
    double *params, *u, *dy;
} trial;

/* Without arrays. */
trial trial_shape(ssm2d_layer layer, size_t batch, size_t rows, size_t cols);
/* With initial parameters, and random u and dy; the caller frees it with trial_free. */
trial trial_make(ssm2d_layer layer, size_t batch, size_t rows, size_t cols, rng *r);
void trial_free(trial *t);

/* These fail the test if the library refuses; the caller destroys what they return. */
ssm2d_plan *plan_for(ssm2d_context *context, const trial *t, ssm2d_type type, const char *algorithm,
                     layout in, layout out, int inference);
ssm2d_workspace *workspace_for(const ssm2d_plan *plan);
/* Number of elements that ssm2d_kernel writes. */
size_t kernel_count(const ssm2d_plan *plan);

/* Kernel, output and gradients, to be freed with answer_free. */
answer run_trial(ssm2d_context *context, const trial *t, ssm2d_type type, const char *algorithm,
                 layout in, layout out);
/* Prints which parameters' gradients differ; returns how many. */
int params_differ(const trial *t, const char *what, const double *got, const double *want,
                  double tolerance);
/* The k-th algorithm that supports a trial: scan cannot truncate a kernel. */
const char *algorithm_for(const trial *t, int *k);

#endif
