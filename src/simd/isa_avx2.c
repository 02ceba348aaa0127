/* AVX2 with FMA. */
#define TABLE      simd_avx2
#define LANE_BYTES 32
#include "simd/bodies.h"
