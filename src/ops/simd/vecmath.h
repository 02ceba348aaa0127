/* vecmath - exp and erf of a vector (glibc's libmvec where there is one), masks, and vectors that are not full. */
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef __typeof__((vec){0} < (vec){0}) mask;

#if LANE_BYTES == 16 && defined(REAL_IS_FLOAT)
#define X86(name) _mm_##name##_ps
#define MVEC(name) _ZGVbN4v_##name##f
#elif LANE_BYTES == 16
#define X86(name) _mm_##name##_pd
#define MVEC(name) _ZGVbN2v_##name
#elif LANE_BYTES == 32 && defined(REAL_IS_FLOAT)
#define X86(name) _mm256_##name##_ps
#define MVEC(name) _ZGVdN8v_##name##f
#elif LANE_BYTES == 32
#define X86(name) _mm256_##name##_pd
#define MVEC(name) _ZGVdN4v_##name
#elif defined(REAL_IS_FLOAT)
#define X86(name) _mm512_##name##_ps
#define MVEC(name) _ZGVeN16v_##name##f
#else
#define X86(name) _mm512_##name##_pd
#define MVEC(name) _ZGVeN8v_##name
#endif

#if defined(HAVE_LIBMVEC)

extern vec MVEC(exp)(vec);
extern vec MVEC(erf)(vec);
INLINE vec vec_exp(vec x) { return MVEC(exp)(x); }
INLINE vec vec_erf(vec x) { return MVEC(erf)(x); }

#else

INLINE vec vec_exp(vec x)
{
    for (int l = 0; l < LANES; l++) x[l] = (real)(sizeof(real) == sizeof(float) ? expf((float)x[l]) : exp((double)x[l]));
    return x;
}

INLINE vec vec_erf(vec x)
{
    for (int l = 0; l < LANES; l++) x[l] = (real)(sizeof(real) == sizeof(float) ? erff((float)x[l]) : erf((double)x[l]));
    return x;
}

#endif

INLINE real real_sqrt(real x) { return sizeof(real) == sizeof(float) ? (real)sqrtf((float)x) : (real)sqrt((double)x); }

INLINE real real_log(real x) { return sizeof(real) == sizeof(float) ? (real)logf((float)x) : (real)log((double)x); }

INLINE vec choose(mask m, vec a, vec b) { return (vec)(((mask)a & m) | ((mask)b & ~m)); }
INLINE vec keep(mask m, vec a) { return (vec)((mask)a & m); } /* 0 elsewhere */
INLINE vec all(real x) { return x - (vec){0}; }

/* Of a NaN and b: b. Compilers do not make the one instruction of it that there is. */
#if defined(__x86_64__) && (LANE_BYTES < 64 || defined(__AVX512F__))
INLINE vec larger(vec a, vec b) { return X86(max)(a, b); }
INLINE vec smaller(vec a, vec b) { return X86(min)(a, b); }
#else
INLINE vec larger(vec a, vec b) { return choose(a > b, a, b); }
INLINE vec smaller(vec a, vec b) { return choose(a < b, a, b); }
#endif

INLINE mask first_lanes(size_t n)
{
    mask m = (vec){0} != (vec){0}; /* none */
    for (int l = 0; l < LANES; l++) m[l] = (size_t)l < n ? -1 : 0;
    return m;
}

/* The first n numbers of a vector; the others are 0. */
INLINE vec load_part(const real *p, size_t n)
{
    real full[LANES] = {0};
    for (size_t l = 0; l < n; l++) full[l] = p[l];
    return load(full);
}

INLINE void store_part(real *p, vec v, size_t n)
{
    real full[LANES];
    store(full, v);
    for (size_t l = 0; l < n; l++) p[l] = full[l];
}

INLINE real largest_lane(vec v)
{
    real out[LANES];
    store(out, v);
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++) out[l] = out[l] > out[l + width] ? out[l] : out[l + width];
    return out[0];
}

/* exp(-FAR) is as good as 0 beside 1, yet no subnormal number, for which libmvec would take a slow way. NaN stays NaN. */
#define FAR ((real)(sizeof(real) == sizeof(float) ? 80 : 700))

INLINE vec not_below(vec x, real low) { return larger(all(low), x); }
INLINE vec not_above(vec x, real high) { return smaller(all(high), x); }
