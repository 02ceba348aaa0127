/* Any processor. */
#define TABLE gemm_int8_baseline
#ifndef LANE_BYTES /* js/ compiles a module of scalars */
#define LANE_BYTES 16
#endif
#include "ops/simd/gemm_int8_bodies.h"
