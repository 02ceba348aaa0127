/* What every machine of the architecture has (x86-64: SSE2). */
#define TABLE      simd_baseline
#define LANE_BYTES 16
#include "simd/bodies.h"
