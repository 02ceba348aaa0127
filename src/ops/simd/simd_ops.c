#include "ops/simd/simd_ops.h"

extern const simd_ops ops_baseline;
#if defined(__x86_64__)
extern const simd_ops ops_avx2, ops_avx512;
#endif

const simd_ops *simd_ops_for(cpu_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case CPU_AVX512: return &ops_avx512;
    case CPU_AVX2: return &ops_avx2;
#endif
    default: return &ops_baseline;
    }
}
