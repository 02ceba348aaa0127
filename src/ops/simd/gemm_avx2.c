/* AVX2 with FMA. */
#define TABLE      gemm_avx2
#define LANE_BYTES 32
#include "ops/simd/gemm_bodies.h"
