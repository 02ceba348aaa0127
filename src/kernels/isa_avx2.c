/* AVX2 with FMA; elsewhere than on x86-64 the same bodies, never chosen. */
#define TABLE NAME(simd_avx2)
#define LANE_BYTES 32
#include "kernels/bodies.h"
