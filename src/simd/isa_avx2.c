/* AVX2 with FMA; elsewhere than on x86-64 the same bodies, never chosen. */
#define TABLE      simd_avx2
#define LANE_BYTES 32
#include "simd/bodies.h"
