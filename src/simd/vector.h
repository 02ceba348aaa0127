/* vector - the vector type of SIMD bodies: LANES elements, with the vector extension of gcc and
 * clang.
 *
 * Bodies are compiled with -ffp-contract=off and request fused multiply-adds explicitly, with
 * mul_add and the like. If the compiler chose, its choice would depend on its version and on the
 * surrounding code: a row of a matrix product would have different bits in a block of one row than
 * in a block of six, and results would depend on the number of threads. */
#include <stddef.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define LANES  ((int)(LANE_BYTES / sizeof(real)))
#define INLINE static inline __attribute__((always_inline))

typedef real vec __attribute__((vector_size(LANE_BYTES)));
typedef real vec_anywhere
    __attribute__((vector_size(LANE_BYTES), aligned(sizeof(real)), may_alias));

INLINE vec load(const real *p) { return *(const vec_anywhere *)p; }
INLINE void store(real *p, vec v) { *(vec_anywhere *)p = v; }

INLINE vec all(real x) { return x - (vec){0}; }

/* The intrinsic of that name for vec, on x86. */
#if LANE_BYTES == 16 && !defined(REAL_IS_DOUBLE)
#define X86(name) _mm_##name##_ps
#elif LANE_BYTES == 16
#define X86(name) _mm_##name##_pd
#elif LANE_BYTES == 32 && !defined(REAL_IS_DOUBLE)
#define X86(name) _mm256_##name##_ps
#elif LANE_BYTES == 32
#define X86(name) _mm256_##name##_pd
#elif !defined(REAL_IS_DOUBLE)
#define X86(name) _mm512_##name##_ps
#else
#define X86(name) _mm512_##name##_pd
#endif

/* mul_add: a*b + c, mul_sub: a*b - c, sub_mul: c - a*b of vectors, and mul_add_1 of scalars. All
 * are rounded once if the instruction set has fused instructions, else all are rounded twice:
 * libm's fma would take a hundred times as long. */
#if defined(__x86_64__) && (LANE_BYTES < 64 ? defined(__FMA__) : defined(__AVX512F__))
#define FUSED 1
INLINE vec mul_add(vec a, vec b, vec c) { return X86(fmadd)(a, b, c); }
INLINE vec mul_sub(vec a, vec b, vec c) { return X86(fmsub)(a, b, c); }
INLINE vec sub_mul(vec c, vec a, vec b) { return X86(fnmadd)(a, b, c); }
#elif defined(__aarch64__)
#define FUSED 1
#if defined(REAL_IS_DOUBLE)
INLINE vec mul_add(vec a, vec b, vec c) { return vfmaq_f64(c, a, b); }
INLINE vec sub_mul(vec c, vec a, vec b) { return vfmsq_f64(c, a, b); }
#else
INLINE vec mul_add(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
INLINE vec sub_mul(vec c, vec a, vec b) { return vfmsq_f32(c, a, b); }
#endif
INLINE vec mul_sub(vec a, vec b, vec c) { return mul_add(a, b, -c); }
#else
#define FUSED 0
INLINE vec mul_add(vec a, vec b, vec c) { return a * b + c; }
INLINE vec mul_sub(vec a, vec b, vec c) { return a * b - c; }
INLINE vec sub_mul(vec c, vec a, vec b) { return c - a * b; }
#endif

INLINE real mul_add_1(real a, real b, real c)
{
#if !FUSED
    return a * b + c;
#elif defined(REAL_IS_DOUBLE)
    return __builtin_fma(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/* The sum over lanes by halving, in log2(LANES) steps. */
INLINE real sum_lanes(vec v)
{
    real out[LANES];
    store(out, v);
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++) out[l] += out[l + width];
    return out[0];
}
