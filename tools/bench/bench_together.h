/* bench_together - `bench train` in several processes: the step they make together. */
#ifndef SSM2D_TOOLS_BENCH_TOGETHER_H
#define SSM2D_TOOLS_BENCH_TOGETHER_H

#include "bench_model.h"

/* Times the ordered and the unordered sum in alternation, and prints what they cost. */
ssm2d_status bench_together(ssm2d_context *context, const model_config *config, size_t batch,
                            double seconds, int json, ssm2d_error *error);

#endif
