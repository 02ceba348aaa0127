#include "kernels/simd.h"

extern const NAME(simd) NAME(simd_baseline), NAME(simd_avx2), NAME(simd_avx512);

const NAME(simd) *NAME(simd_for)(cpu_level level)
{
    switch (level) {
    case CPU_AVX512: return &NAME(simd_avx512);
    case CPU_AVX2: return &NAME(simd_avx2);
    default: return &NAME(simd_baseline);
    }
}
