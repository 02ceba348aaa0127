/* Tiles emulated by what every machine of the architecture has: SSE2 on x86-64, NEON on AArch64. */
#define TABLE      gemm_tiles_baseline
#define LANE_BYTES 16
#define PAIRS
#define TILES "ops/simd/tiles_emulated.h"
#include "ops/simd/gemm_bodies.h"
