/* AVX2 with FMA. */
#define TABLE      ops_avx2
#define LANE_BYTES 32
#include "ops/simd/ops_bodies.h"
