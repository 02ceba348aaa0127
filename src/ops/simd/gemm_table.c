#include "ops/simd/gemm_table.h"

extern const gemm_table gemm_baseline;
#if defined(__x86_64__)
extern const gemm_table gemm_avx2, gemm_avx512;
#endif

static const gemm_table *real_factors(cpu_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case CPU_AVX512: return &gemm_avx512;
    case CPU_AVX2: return &gemm_avx2;
#endif
    default: return &gemm_baseline;
    }
}

/* bfloat16 is for training, which modules for browsers do without. */
#if !defined(REAL_IS_DOUBLE) && !defined(__EMSCRIPTEN__)

extern const gemm_table gemm_bfloat16_baseline;
#if defined(__x86_64__)
extern const gemm_table gemm_bfloat16_avx2, gemm_bfloat16_avx512;
#endif
#if defined(HAVE_AVX512BF16)
extern const gemm_table gemm_bfloat16_avx512bf16;
#endif

const gemm_table *gemm_bfloat16_plain(cpu_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case CPU_AVX512: return &gemm_bfloat16_avx512;
    case CPU_AVX2: return &gemm_bfloat16_avx2;
#endif
    default: return &gemm_bfloat16_baseline;
    }
}

static const gemm_table *bfloat16_factors(cpu_level level)
{
#if defined(HAVE_AVX512BF16)
    if (level == CPU_AVX512 && __builtin_cpu_supports("avx512bf16"))
        return &gemm_bfloat16_avx512bf16;
#endif
    return gemm_bfloat16_plain(level);
}

#else

const gemm_table *gemm_bfloat16_plain(cpu_level level)
{
    (void)level;
    return NULL;
}

static const gemm_table *bfloat16_factors(cpu_level level) { return gemm_bfloat16_plain(level); }

#endif

const gemm_table *gemm_for(cpu_level level, element_type factors)
{
    return factors == ELEMENT_BFLOAT16 ? bfloat16_factors(level) : real_factors(level);
}
