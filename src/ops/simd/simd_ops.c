#include "ops/simd/simd_ops.h"

extern const NAME(simd_ops) NAME(ops_baseline), NAME(ops_avx2), NAME(ops_avx512);

const NAME(simd_ops) *NAME(simd_ops_for)(cpu_level level)
{
    switch (level) {
    case CPU_AVX512: return &NAME(ops_avx512);
    case CPU_AVX2: return &NAME(ops_avx2);
    default: return &NAME(ops_baseline);
    }
}
