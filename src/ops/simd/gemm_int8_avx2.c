/* AVX2. */
#define TABLE      gemm_int8_avx2
#define LANE_BYTES 32
#include "ops/simd/gemm_int8_bodies.h"
