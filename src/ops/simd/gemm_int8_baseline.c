/* Any processor. */
#define TABLE      gemm_int8_baseline
#define LANE_BYTES 16
#include "ops/simd/gemm_int8_bodies.h"
