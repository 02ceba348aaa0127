/* AVX-512 with BF16, whose vdpbf16ps multiplies pairs. */
#define TABLE      gemm_bfloat16_avx512bf16
#define LANE_BYTES 64
#define MANY_REGISTERS
#define PAIRS
#include "ops/simd/gemm_bodies.h"
