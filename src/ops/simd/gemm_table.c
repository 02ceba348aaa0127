#include "ops/simd/gemm_table.h"

#include "core/amx.h"
#include "core/float_mode.h"

#include <string.h>

extern const gemm_table gemm_baseline;
#if defined(__x86_64__)
extern const gemm_table gemm_avx2, gemm_avx512;
#endif

const gemm_table *gemm_for(cpu_level level)
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

extern const gemm_table gemm_bfloat16_baseline, gemm_tiles_baseline;
#if defined(__x86_64__)
extern const gemm_table gemm_bfloat16_avx2, gemm_bfloat16_avx512, gemm_tiles_avx2,
    gemm_tiles_avx512;
#endif
#if defined(HAVE_AVX512BF16)
extern const gemm_table gemm_bfloat16_avx512bf16;
#endif
#if defined(HAVE_AMX)
extern const gemm_table gemm_tiles_amx;
#endif

static const gemm_table *const emulations[GEMM_ORDERS][CPU_LEVELS] = {
#if defined(__x86_64__)
    {&gemm_bfloat16_baseline, &gemm_bfloat16_avx2, &gemm_bfloat16_avx512},
    {&gemm_tiles_baseline, &gemm_tiles_avx2, &gemm_tiles_avx512},
#else
    {&gemm_bfloat16_baseline},
    {&gemm_tiles_baseline},
#endif
};

#if defined(HAVE_AMX)

enum { SIDE = 64, PROBE = SIDE * SIDE };

/* y = x W of normal numbers, in an order of their own. */
static void probe(const gemm_table *t, float y[PROBE])
{
    float x[PROBE], packed[PROBE];
    uint32_t bits = 1;
    for (int i = 0; i < PROBE; i++) {
        bits = bits * 1664525 + 1013904223;
        x[i] = (float)(bits >> 8) * 0x1p-24F - 0.5F;
    }
    t->gemm_pack(&(gemm_pack_args){SIDE, SIDE, x, 1, SIDE, packed}, 0, SIDE);
    t->gemm_packed(&(gemm_packed_args){SIDE, SIDE, SIDE, SIDE, SIDE, x, packed, NULL, y, 0}, 0,
                   SIDE);
}

/* Whether this machine's tiles multiply, and give the bits that they should: others would be a
 * third order. */
static int tiles_multiply(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int answer = UNKNOWN;
    if (!amx_permitted() || !__builtin_cpu_supports("avx512bf16")) return 0;
    if (answer == UNKNOWN) {
        float got[PROBE], want[PROBE];
        const float_mode before = float_mode_set();
        probe(&gemm_tiles_amx, got);
        probe(&gemm_tiles_avx512, want);
        float_mode_restore(before);
        answer = memcmp(got, want, sizeof got) ? NO : YES;
    }
    return answer == YES;
}

#endif

int gemm_bfloat16_bodies(cpu_level level, gemm_order order, gemm_body bodies[GEMM_BODIES])
{
    int count = 0;
    bodies[count++] = (gemm_body){cpu_names[level], emulations[order][level], 1};
#if defined(HAVE_AVX512BF16)
    if (order == GEMM_PAIRS && level == CPU_AVX512 && __builtin_cpu_supports("avx512bf16"))
        bodies[count++] = (gemm_body){"avx512bf16", &gemm_bfloat16_avx512bf16, 0};
#endif
#if defined(HAVE_AMX)
    if (order == GEMM_TILES && level == CPU_AVX512 && tiles_multiply())
        bodies[count++] = (gemm_body){"amx", &gemm_tiles_amx, 0};
#endif
    return count;
}

#else

int gemm_bfloat16_bodies(cpu_level level, gemm_order order, gemm_body bodies[GEMM_BODIES])
{
    (void)level, (void)order, (void)bodies;
    return 0;
}

#endif
