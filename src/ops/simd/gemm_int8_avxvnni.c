/* AVX2 with VNNI, whose vpdpbusd multiplies quads of bytes. */
#define TABLE      gemm_int8_avxvnni
#define LANE_BYTES 32
#define QUADS
#include "ops/simd/gemm_int8_bodies.h"
