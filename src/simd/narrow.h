/* narrow - converts vectors of real from and to bfloat16 and int8; LANES of these fill part of a
 * register. All operations are on bits or exact, so that neither the float mode (flush to zero) nor
 * the instruction set changes a result. */
#include "core/element_type.h"

typedef bfloat16 halves __attribute__((vector_size(2 * LANES)));
typedef bfloat16 halves_anywhere __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef int8_t bytes __attribute__((vector_size(LANES)));
typedef int8_t bytes_anywhere __attribute__((vector_size(LANES), aligned(1), may_alias));

#if !defined(REAL_IS_DOUBLE)

typedef uint32_t words __attribute__((vector_size(LANE_BYTES)));
#define WHOLE_ROUNDER 0x1.8p23f

INLINE vec from_halves(halves h) { return (vec)(__builtin_convertvector(h, words) << 16); }

/* Rounds to nearest, ties to even: adds half a unit in the last kept place, minus one bit if the
 * kept part is even, and lets the carry propagate, up to infinity. The carry could turn a NaN into
 * something else, so a NaN keeps its upper bits and is made quiet. */
INLINE halves to_halves(vec v)
{
    const words x = (words)v, rounded = x + 0x7fff + (x >> 16 & 1);
    const words is_nan = (words)((mask)(x & 0x7fffffff) > 0x7f800000);
    const words upper = (rounded >> 16 & ~is_nan) | ((x >> 16 | 0x40) & is_nan);
    return __builtin_convertvector(upper, halves);
}

#else

#define WHOLE_ROUNDER 0x1.8p52

/* The same in double, for tests, where speed does not matter. Subnormal bfloat16 values are normal
 * in double. */
INLINE vec from_halves(halves h)
{
    typedef uint64_t words __attribute__((vector_size(LANE_BYTES)));
    vec v = {0};
    for (int l = 0; l < LANES; l++) {
        const uint64_t exponent = h[l] >> 7 & 0xff, fraction = h[l] & 0x7f;
        words bits = {(exponent == 0xff ? 0x7ff : exponent + 1023 - 127) << 52 | fraction << 45};
        const real size = exponent ? ((vec)bits)[0] : (real)fraction * 0x1p-133;
        v[l] = h[l] >> 15 ? -size : size;
    }
    return v;
}

INLINE bfloat16 half_of(real x, uint64_t bits)
{
    const bfloat16 sign = (bfloat16)(bits >> 63 << 15);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023, tiny = exponent < -126;
    const uint64_t fraction = bits & ((1ull << 52) - 1), all_of_it = 1ull << 52 | fraction;
    const int shift = 45 + (tiny ? -126 - exponent : 0);
    if (x != x) return (bfloat16)(sign | 0x7fc0 | fraction >> 45);
    if (exponent > 127) return sign | 0x7f80;
    if (shift > 54) return sign;
    const uint64_t kept = all_of_it >> shift, lost = all_of_it - (kept << shift),
                   half = 1ull << (shift - 1);
    const uint64_t rounded = kept + (lost > half || (lost == half && kept & 1));
    return (bfloat16)(sign + (tiny ? 0 : (uint64_t)(exponent + 126) << 7) + rounded);
}

INLINE halves to_halves(vec v)
{
    typedef uint64_t words __attribute__((vector_size(LANE_BYTES)));
    halves h = {0};
    for (int l = 0; l < LANES; l++) h[l] = half_of(v[l], ((words)v)[l]);
    return h;
}

#endif

INLINE vec from_bytes(bytes b)
{
    return __builtin_convertvector(__builtin_convertvector(b, mask), vec);
}

/* Rounds to nearest, ties to even, and saturates at -127 and 127; NaN becomes 0. */
INLINE bytes to_bytes(vec v)
{
    const vec near = smaller(all(127), larger(all(-127), keep(v == v, v)));
    const vec whole = (near + WHOLE_ROUNDER) - WHOLE_ROUNDER;
    return __builtin_convertvector(__builtin_convertvector(whole, mask), bytes);
}
