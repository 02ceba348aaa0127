/* AVX-512 (F, DQ, VL, BW). */
#define TABLE      gemm_bfloat16_avx512
#define LANE_BYTES 64
#define MANY_REGISTERS
#define PAIRS
#include "ops/simd/gemm_bodies.h"
