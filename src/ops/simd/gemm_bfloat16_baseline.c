/* What every machine of the architecture has: SSE2 on x86-64, NEON on AArch64. */
#define TABLE      gemm_bfloat16_baseline
#define LANE_BYTES 16
#if defined(__aarch64__)
#define MANY_REGISTERS
#endif
#define PAIRS
#include "ops/simd/gemm_bodies.h"
