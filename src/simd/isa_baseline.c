/* The instructions that every machine of the architecture has: SSE2 on x86-64, NEON with its 32
 * registers on AArch64. */
#define TABLE      simd_baseline
#define LANE_BYTES 16
#if defined(__aarch64__)
#define MANY_REGISTERS
#endif
#include "simd/bodies.h"
