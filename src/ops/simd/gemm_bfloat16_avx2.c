/* AVX2 with FMA. */
#define TABLE      gemm_bfloat16_avx2
#define LANE_BYTES 32
#define PAIRS
#include "ops/simd/gemm_bodies.h"
