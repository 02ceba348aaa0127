/* gemm_choice - which type of factors makes matrix products faster on this processor. */
#ifndef SSM2D_OPS_SIMD_GEMM_CHOICE_H
#define SSM2D_OPS_SIMD_GEMM_CHOICE_H

#include "core/cpu.h"

/* Whether products with bfloat16 factors take less time than those with real ones. */
int gemm_bfloat16_is_faster(cpu_level level);

#endif
