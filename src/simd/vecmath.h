/* vecmath - exp and erf of a vector, masks, and partially filled vectors.
 *
 * erf, and exp of doubles, come from glibc's libmvec if available (HAVE_LIBMVEC; the layer library
 * does not use it). exp of floats is implemented here: it is the inner loop of attention, and a
 * call would have to save registers. */
#include <math.h>

typedef __typeof__((vec){0} < (vec){0}) mask;

#if LANE_BYTES == 16 && !defined(REAL_IS_DOUBLE)
#define MVEC(name) _ZGVbN4v_##name##f
#elif LANE_BYTES == 16
#define MVEC(name) _ZGVbN2v_##name
#elif LANE_BYTES == 32 && !defined(REAL_IS_DOUBLE)
#define MVEC(name) _ZGVdN8v_##name##f
#elif LANE_BYTES == 32
#define MVEC(name) _ZGVdN4v_##name
#elif !defined(REAL_IS_DOUBLE)
#define MVEC(name) _ZGVeN16v_##name##f
#else
#define MVEC(name) _ZGVeN8v_##name
#endif

#if defined(HAVE_LIBMVEC)

extern vec MVEC(erf)(vec);
INLINE vec vec_erf(vec x) { return MVEC(erf)(x); }

#else

INLINE vec vec_erf(vec x)
{
    for (int l = 0; l < LANES; l++)
        x[l] = (real)(sizeof(real) == sizeof(float) ? erff((float)x[l]) : erf((double)x[l]));
    return x;
}

#endif

/* vec_exp is for |x| <= FAR only: callers clamp. */
#if !defined(REAL_IS_DOUBLE)

/* exp(x) = 2^n exp(r), n whole, |r| <= log(2)/2: exp(r) by its series, with the last coefficients
 * adjusted to spread the error; within 1.5 units in the last place. Adding 1.5 * 2^23 rounds to an
 * integer and leaves n in the lowest bits. NaN stays NaN. */
INLINE vec vec_exp(vec x)
{
    const real rounder = 0x1.8p23f;
    vec shifted = mul_add(x, all(0x1.715476p0f), all(rounder)), n = shifted - rounder;
    /* log(2) in two parts: n times the first is exact */
    vec r = sub_mul(sub_mul(x, n, all(0x1.62e4p-1f)), n, all(0x1.7f7d1cp-20f));
    vec p = mul_add(r, all(0x1.6b6e1ap-10f), all(0x1.122fc2p-7f));
    p = mul_add(p, r, all(0x1.555688p-5f));
    p = mul_add(p, r, all(0x1.5554a4p-3f));
    p = mul_add(p, r, all((real)0.5));
    p = mul_add(p, r * r, r) + 1;
    return p * (vec)(((mask)shifted << 23) + 0x3f800000);
}

#elif defined(HAVE_LIBMVEC)

extern vec MVEC(exp)(vec);
INLINE vec vec_exp(vec x) { return MVEC(exp)(x); }

#else

INLINE vec vec_exp(vec x)
{
    for (int l = 0; l < LANES; l++) x[l] = exp(x[l]);
    return x;
}

#endif

INLINE real real_sqrt(real x)
{
    return sizeof(real) == sizeof(float) ? (real)sqrtf((float)x) : (real)sqrt((double)x);
}

INLINE real real_log(real x)
{
    return sizeof(real) == sizeof(float) ? (real)logf((float)x) : (real)log((double)x);
}

INLINE vec choose(mask m, vec a, vec b) { return (vec)(((mask)a & m) | ((mask)b & ~m)); }
INLINE vec keep(mask m, vec a) { return (vec)((mask)a & m); } /* 0 elsewhere */

/* The larger and the smaller of two; b when a is NaN, as maxps does. Written as intrinsics because
 * compilers do not turn `a > b ? a : b` into maxps under strict IEEE rules. */
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

/* The first n elements of a vector; the others are 0. */
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

/* exp(-FAR) is negligible compared to 1 but not subnormal, where libmvec would be slow. NaN stays
 * NaN. */
#define FAR ((real)(sizeof(real) == sizeof(float) ? 80 : 700))

INLINE vec not_below(vec x, real low) { return larger(all(low), x); }
INLINE vec not_above(vec x, real high) { return smaller(all(high), x); }
