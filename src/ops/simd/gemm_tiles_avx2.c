/* Tiles emulated by AVX2 with FMA. */
#define TABLE      gemm_tiles_avx2
#define LANE_BYTES 32
#define PAIRS
#define TILES "ops/simd/tiles_emulated.h"
#include "ops/simd/gemm_bodies.h"
