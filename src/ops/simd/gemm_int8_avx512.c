/* AVX-512 (F, DQ, VL, BW). */
#define TABLE      gemm_int8_avx512
#define LANE_BYTES 64
#define MANY_REGISTERS
#include "ops/simd/gemm_int8_bodies.h"
