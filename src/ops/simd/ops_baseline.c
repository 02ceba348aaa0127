/* What every machine of the architecture has (x86-64: SSE2). */
#define TABLE      ops_baseline
#define LANE_BYTES 16
#include "ops/simd/ops_bodies.h"
