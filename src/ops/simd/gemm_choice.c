#include "ops/simd/gemm_choice.h"

/* vdpbf16ps does twice the work of a multiply-add in the same time on AMD's processors, and half of
 * it on Intel's. */
int gemm_bfloat16_is_faster(cpu_level level)
{
#if defined(HAVE_AVX512BF16)
    return level == CPU_AVX512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("amd");
#else
    (void)level;
    return 0;
#endif
}
