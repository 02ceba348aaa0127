/* AVX2 with FMA; elsewhere than on x86-64 the same bodies, never chosen. */
#define TABLE      ops_avx2
#define LANE_BYTES 32
#include "ops/simd/ops_bodies.h"
