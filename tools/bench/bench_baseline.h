/* bench_baseline - S4ND and EMA on the arrays of a case of `bench layer`. */
#ifndef SSM2D_TOOLS_BENCH_BASELINE_H
#define SSM2D_TOOLS_BENCH_BASELINE_H

#include "ssm2d_baselines.h"

typedef struct bench_baseline bench_baseline;

/* With the default configuration for so many channels. u, y, dy, du: dense, borrowed. */
ssm2d_status bench_baseline_create(ssm2d_context *context, ssm2d_baseline_kind kind,
                                   const ssm2d_plan_options *options, int channels, const void *u,
                                   void *y, const void *dy, void *du, bench_baseline **out,
                                   ssm2d_error *error);
void bench_baseline_forward(void *baseline);
void bench_baseline_train(void *baseline); /* forward and backward */
const char *bench_baseline_algorithm(const bench_baseline *b);
void bench_baseline_destroy(bench_baseline *b);

#endif
