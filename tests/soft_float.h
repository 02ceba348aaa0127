/* soft_float - float32 in integers, rounded to nearest even, subnormals taken for zero: what the
 * processor's arithmetic and its modes are checked against. */
#ifndef SSM2D_TESTS_SOFT_FLOAT_H
#define SSM2D_TESTS_SOFT_FLOAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* (negative ? -1 : 1) * mantissa * 2^exponent */
typedef struct soft_number {
    int negative, exponent;
    uint64_t mantissa;
} soft_number;

static inline soft_number soft_open(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 23 & 0xff);
    return (soft_number){(int)(bits >> 31), exponent - 150,
                         exponent ? (bits & 0x7fffff) | 0x800000 : 0};
}

/* The nearest float32 of value * 2^exponent; `sign` is that of a zero. */
static inline float soft_close(__int128 value, int exponent, int sign)
{
    const int negative = value < 0 || (value == 0 && sign);
    unsigned __int128 size = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    int length = 0;
    while (length < 127 && size >> length) length++;
    if (length > 24) {
        const int shift = length - 24;
        const unsigned __int128 lost = size & (((unsigned __int128)1 << shift) - 1),
                                half = (unsigned __int128)1 << (shift - 1);
        size >>= shift;
        size += lost > half || (lost == half && size & 1);
        exponent += shift;
    } else {
        size <<= 24 - length;
        exponent -= 24 - length;
    }
    if (size >> 24) size >>= 1, exponent++;
    uint32_t bits = (uint32_t)negative << 31;
    if (value && exponent + 150 >= 255)
        bits |= 0x7f800000;
    else if (value && exponent + 150 > 0)
        bits |= (uint32_t)(exponent + 150) << 23 | ((uint32_t)size & 0x7fffff);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a*b + c, rounded once. */
static inline float soft_mul_add(float a, float b, float c)
{
    enum { GUARD_BITS = 50 }; /* bits between a number and one that only tells how it is rounded */
    const soft_number l = soft_open(a), r = soft_open(b), s = soft_open(c);
    if (!isfinite(a) || !isfinite(b) || !isfinite(c)) {
        const double left = l.mantissa || !isfinite(a) ? (double)a : 0,
                     right = r.mantissa || !isfinite(b) ? (double)b : 0;
        return (float)(left * right + (double)c);
    }
    const int negative = l.negative ^ r.negative;
    __int128 product = (__int128)(l.mantissa * r.mantissa), sum = s.mantissa;
    int exponent = l.exponent + r.exponent, apart = exponent - s.exponent;
    if (!product) return soft_close(s.negative ? -sum : sum, s.exponent, s.negative && negative);
    if (sum && apart >= GUARD_BITS + 24) {
        product <<= GUARD_BITS, exponent -= GUARD_BITS, sum = 1;
    } else if (sum && apart >= 0) {
        product <<= apart, exponent = s.exponent;
    } else if (sum && -apart < GUARD_BITS + 48) {
        sum <<= -apart;
    } else if (sum) {
        sum <<= GUARD_BITS, exponent = s.exponent - GUARD_BITS, product = 1;
    }
    return soft_close((negative ? -product : product) + (s.negative ? -sum : sum), exponent, 0);
}

static inline float soft_add(float a, float b) { return soft_mul_add(a, 1, b); }

#endif
