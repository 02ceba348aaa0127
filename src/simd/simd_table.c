#include "simd/simd_table.h"

extern const simd_table simd_baseline, simd_avx2, simd_avx512;

const simd_table *simd_for(cpu_level level)
{
    switch (level) {
    case CPU_AVX512: return &simd_avx512;
    case CPU_AVX2: return &simd_avx2;
    default: return &simd_baseline;
    }
}
