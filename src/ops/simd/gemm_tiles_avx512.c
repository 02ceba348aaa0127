/* Tiles emulated by AVX-512 (F, DQ, VL, BW). */
#define TABLE      gemm_tiles_avx512
#define LANE_BYTES 64
#define PAIRS
#define TILES "ops/simd/tiles_emulated.h"
#include "ops/simd/gemm_bodies.h"
