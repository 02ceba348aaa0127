/* What every machine of the architecture has (x86-64: SSE2). */
#define TABLE NAME(simd_baseline)
#define LANE_BYTES 16
#include "kernels/bodies.h"
