#include "ops/simd/simd_ops.h"

extern const simd_ops ops_baseline, ops_avx2, ops_avx512;

const simd_ops *simd_ops_for(cpu_level level)
{
    switch (level) {
    case CPU_AVX512: return &ops_avx512;
    case CPU_AVX2: return &ops_avx2;
    default: return &ops_baseline;
    }
}
