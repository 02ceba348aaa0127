/* float_modes - modes of floating-point arithmetic that a caller of the library may be in. Include
 * it before all else, after defining _GNU_SOURCE (feenableexcept). */
#ifndef SSM2D_TESTS_FLOAT_MODES_H
#define SSM2D_TESTS_FLOAT_MODES_H

#include <fenv.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

typedef struct mode {
    const char *name;
    int rounding;
    int flush; /* subnormal numbers count as zero: x86 only */
    int traps; /* traps for every exception: glibc on x86 only */
} mode;

static const mode modes[] = {
    {"nearest", FE_TONEAREST, 0, 0}, {"upward", FE_UPWARD, 0, 0},
    {"downward", FE_DOWNWARD, 0, 0}, {"toward zero", FE_TOWARDZERO, 0, 0},
    {"flush", FE_TONEAREST, 1, 0},   {"traps", FE_TONEAREST, 0, 1},
    {"all", FE_UPWARD, 1, 1},
};
enum { MODES = sizeof modes / sizeof *modes };

static inline void enter(const mode *m)
{
    fesetround(m->rounding);
#if defined(__x86_64__)
    if (m->flush) _mm_setcsr(_mm_getcsr() | 0x8040);
#if defined(__GLIBC__)
    feclearexcept(FE_ALL_EXCEPT);
    if (m->traps) feenableexcept(FE_ALL_EXCEPT);
#endif
#endif
}

/* Restores the usual mode; returns whether the library had left the mode unchanged. */
static inline int leave(const mode *m)
{
    int same = fegetround() == m->rounding;
#if defined(__x86_64__)
    same = same && (_mm_getcsr() & 0x8040) == (m->flush ? 0x8040 : 0);
#if defined(__GLIBC__)
    same = same && fegetexcept() == (m->traps ? FE_ALL_EXCEPT : 0);
    fedisableexcept(FE_ALL_EXCEPT);
    feclearexcept(FE_ALL_EXCEPT);
#endif
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
    fesetround(FE_TONEAREST);
    return same;
}

#endif
