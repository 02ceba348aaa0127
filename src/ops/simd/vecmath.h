/* vecmath - exp and erf of a vector (glibc's libmvec where there is one), masks, and vectors that are not full. */
#include <math.h>

typedef __typeof__((vec){0} < (vec){0}) mask;

#if defined(HAVE_LIBMVEC)

#if LANE_BYTES == 16 && defined(REAL_IS_FLOAT)
#define MVEC_EXP _ZGVbN4v_expf
#define MVEC_ERF _ZGVbN4v_erff
#elif LANE_BYTES == 16
#define MVEC_EXP _ZGVbN2v_exp
#define MVEC_ERF _ZGVbN2v_erf
#elif LANE_BYTES == 32 && defined(REAL_IS_FLOAT)
#define MVEC_EXP _ZGVdN8v_expf
#define MVEC_ERF _ZGVdN8v_erff
#elif LANE_BYTES == 32
#define MVEC_EXP _ZGVdN4v_exp
#define MVEC_ERF _ZGVdN4v_erf
#elif defined(REAL_IS_FLOAT)
#define MVEC_EXP _ZGVeN16v_expf
#define MVEC_ERF _ZGVeN16v_erff
#else
#define MVEC_EXP _ZGVeN8v_exp
#define MVEC_ERF _ZGVeN8v_erf
#endif
extern vec MVEC_EXP(vec);
extern vec MVEC_ERF(vec);

INLINE vec vec_exp(vec x) { return MVEC_EXP(x); }
INLINE vec vec_erf(vec x) { return MVEC_ERF(x); }

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
INLINE vec larger(vec a, vec b) { return choose(a > b, a, b); }
INLINE vec all(real x) { return x - (vec){0}; }

INLINE mask first_lanes(size_t n)
{
    mask m;
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
    real top = v[0];
    for (int l = 1; l < LANES; l++) top = v[l] > top ? v[l] : top;
    return top;
}

/* exp(-FAR) is as good as 0 beside 1, yet no subnormal number, for which libmvec would take a slow way. NaN stays NaN. */
#define FAR ((real)(sizeof(real) == sizeof(float) ? 80 : 700))

INLINE vec not_below(vec x, real low) { return choose(x < low, all(low), x); }
INLINE vec not_above(vec x, real high) { return choose(x > high, all(high), x); }
