/* float_mode - how the processor rounds, what it does with subnormal numbers, and which exceptions
 * trap.
 *
 * The library computes in one mode whatever that of the calling thread is, so that neither time nor
 * bits depend on it: rounding to nearest, no traps, and subnormal results and operands taken as
 * zero, since they cost a hundred times as much as other numbers and kernels that decay reach them
 * within a hundred cells. Public functions that compute set it once and restore the caller's. */
#ifndef SSM2D_CORE_FLOAT_MODE_H
#define SSM2D_CORE_FLOAT_MODE_H

#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

typedef uint64_t float_mode;

/* Sets the library's mode and returns the one before it, for float_mode_restore. */
static inline float_mode float_mode_set(void)
{
    float_mode before = 0;
#if defined(__x86_64__)
    /* MXCSR: flush to zero, all exceptions masked, denormals are zero, round to nearest */
    const unsigned mode = 0x8000 | 0x1f80 | 0x0040;
    before = _mm_getcsr();
    _mm_setcsr(mode);
#elif defined(__aarch64__)
    /* FPCR: flush to zero, and round to nearest without traps, which are zeros */
    const uint64_t mode = (uint64_t)1 << 24;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
#endif
    __asm__ volatile("" : : : "memory"); /* keeps arithmetic on memory from moving before this */
    return before;
}

static inline void float_mode_restore(float_mode before)
{
    __asm__ volatile("" : : : "memory");
#if defined(__x86_64__)
    /* keep the exception flags that were raised meanwhile */
    const unsigned raised = _mm_getcsr() & 0x3f;
    _mm_setcsr((unsigned)before | raised);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
#else
    (void)before;
#endif
}

#endif
