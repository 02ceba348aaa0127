/* AVX-512 (F, DQ, VL, BW): twice the width and twice the registers. */
#define TABLE      ops_avx512
#define LANE_BYTES 64
#define MANY_REGISTERS
#include "ops/simd/ops_bodies.h"
