/* AVX-512 (F, DQ, VL, BW): twice the width and twice the registers. */
#define TABLE      simd_avx512
#define LANE_BYTES 64
#define MANY_REGISTERS
#include "simd/bodies.h"
