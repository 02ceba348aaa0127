/* float_mode - the processor's treatment of subnormal numbers, which cost a hundred times as much
 * as others: kernels that decay reach them within a hundred cells.
 *
 * All of the library's tasks run with subnormal results and operands taken as zero, whatever the
 * mode of the calling thread is, so that neither time nor bits depend on it; the caller's mode is
 * restored after them. */
#ifndef SSM2D_CORE_FLOAT_MODE_H
#define SSM2D_CORE_FLOAT_MODE_H

#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

typedef uint64_t float_mode;

/* Returns the mode before it, for float_mode_restore. */
static inline float_mode float_mode_flush(void)
{
#if defined(__x86_64__)
    const unsigned before = _mm_getcsr(), flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
    _mm_setcsr(before | flush_to_zero | denormals_are_zero);
    return before;
#elif defined(__aarch64__)
    const uint64_t flush = (uint64_t)1 << 24;
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | flush) : "memory");
    return before;
#else
    return 0;
#endif
}

static inline void float_mode_restore(float_mode before)
{
#if defined(__x86_64__)
    /* exceptions raised meanwhile are kept, as any arithmetic would have kept them */
    const unsigned raised = _mm_getcsr() & 0x3f;
    _mm_setcsr((unsigned)before | raised);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
#else
    (void)before;
#endif
}

#endif
