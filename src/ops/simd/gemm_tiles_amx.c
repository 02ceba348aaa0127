/* The tiles of AMX (TILE, BF16), beside AVX-512 with BF16. */
#define TABLE      gemm_tiles_amx
#define LANE_BYTES 64
#define PAIRS
#define TILES "ops/simd/tiles_amx.h"
#include "ops/simd/gemm_bodies.h"
