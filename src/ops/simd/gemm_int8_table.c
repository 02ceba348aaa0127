#include "ops/simd/gemm_int8_table.h"

#if defined(HAVE_VNNI)
#include <cpuid.h>
#endif

#if !defined(REAL_IS_DOUBLE)

extern const gemm_int8_table gemm_int8_baseline;
#if defined(__x86_64__)
extern const gemm_int8_table gemm_int8_avx2, gemm_int8_avx512;
#endif
#if defined(HAVE_VNNI)
extern const gemm_int8_table gemm_int8_avxvnni, gemm_int8_avx512vnni;

/* CPUID leaf 7.1: clang 14 does not know the name of this feature. */
static int has_avx_vnni(void)
{
    enum { AVX_VNNI = 1 << 4 };
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & AVX_VNNI;
}
#endif

/* All tables, the fastest first, and whether the processor has their instructions. */
static const gemm_int8_table *table_at(int i, cpu_level *level, int *has)
{
    *has = 1;
    switch (i) {
#if defined(HAVE_VNNI)
    case 0:
        *level = CPU_AVX512;
        *has = __builtin_cpu_supports("avx512vnni") != 0;
        return &gemm_int8_avx512vnni;
    case 2:
        *level = CPU_AVX2;
        *has = has_avx_vnni();
        return &gemm_int8_avxvnni;
#endif
#if defined(__x86_64__)
    case 1: *level = CPU_AVX512; return &gemm_int8_avx512;
    case 3: *level = CPU_AVX2; return &gemm_int8_avx2;
#endif
    default: *level = CPU_BASELINE; return &gemm_int8_baseline;
    }
}

enum { TABLES = 5 };

const gemm_int8_table *gemm_int8_for(cpu_level level)
{
    for (int i = 0;; i++) {
        cpu_level needed;
        int has;
        const gemm_int8_table *t = table_at(i, &needed, &has);
        if (has && needed <= level) return t;
    }
}

const gemm_int8_table *gemm_int8_at(int wanted)
{
    const cpu_level best = cpu_best();
    for (int i = 0; i < TABLES; i++) {
        cpu_level needed;
        int has;
        const gemm_int8_table *t = table_at(i, &needed, &has);
        /* without its instructions a table's entry is that of another */
        const int is_own = i == TABLES - 1 || needed != CPU_BASELINE;
        if (has && is_own && needed <= best && !wanted--) return t;
    }
    return 0;
}

#else /* there are none */

const gemm_int8_table *gemm_int8_for(cpu_level level)
{
    (void)level;
    return 0;
}

const gemm_int8_table *gemm_int8_at(int i)
{
    (void)i;
    return 0;
}

#endif
