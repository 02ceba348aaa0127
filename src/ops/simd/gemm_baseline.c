/* What every machine of the architecture has: SSE2 on x86-64, NEON on AArch64. */
#define TABLE gemm_baseline
#ifndef LANE_BYTES /* js/ compiles a module of scalars */
#define LANE_BYTES 16
#endif
#if defined(__aarch64__)
#define MANY_REGISTERS
#endif
#include "ops/simd/gemm_bodies.h"
