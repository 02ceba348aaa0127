/* simd_names - gives functions that are compiled for float and for double different linker names;
 * the code uses one name for both. */
#ifndef SSM2D_SIMD_SIMD_NAMES_H
#define SSM2D_SIMD_SIMD_NAMES_H

#include "core/real.h"

#define simd_for      WITH_TYPE_SUFFIX(simd_for)
#define simd_baseline WITH_TYPE_SUFFIX(simd_baseline)
#define simd_avx2     WITH_TYPE_SUFFIX(simd_avx2)
#define simd_avx512   WITH_TYPE_SUFFIX(simd_avx512)

#endif
