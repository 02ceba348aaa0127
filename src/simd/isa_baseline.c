/* The instructions that every machine of the architecture has: SSE2 on x86-64, NEON with its 32
 * registers on AArch64, SIMD128 in WebAssembly if the compiler is told so. */
#define TABLE simd_baseline
#ifndef LANE_BYTES /* js/ compiles a module of scalars */
#define LANE_BYTES 16
#endif
#if defined(__aarch64__)
#define MANY_REGISTERS
#endif
#include "simd/bodies.h"
