#include "simd/simd_table.h"

extern const simd_table simd_baseline;
#if defined(__x86_64__)
extern const simd_table simd_avx2, simd_avx512;
#endif

const simd_table *simd_for(cpu_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case CPU_AVX512: return &simd_avx512;
    case CPU_AVX2: return &simd_avx2;
#endif
    default: return &simd_baseline;
    }
}
