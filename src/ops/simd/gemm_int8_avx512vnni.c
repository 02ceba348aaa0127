/* AVX-512 with VNNI, whose vpdpbusd multiplies quads of bytes. */
#define TABLE      gemm_int8_avx512vnni
#define LANE_BYTES 64
#define MANY_REGISTERS
#define QUADS
#include "ops/simd/gemm_int8_bodies.h"
