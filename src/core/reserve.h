/* reserve - laying out one block of memory: offsets are handed out first, the block is allocated
 * once their sum is known. */
#ifndef SSM2D_CORE_RESERVE_H
#define SSM2D_CORE_RESERVE_H

#include <stddef.h>
#include <stdint.h>

enum { RESERVE_ALIGNMENT = 64 };

/* Adds count * size, rounded up to the alignment, to *bytes and returns the offset of the new part.
 * On overflow *bytes becomes, and stays, SIZE_MAX; the offset is then meaningless. */
static inline size_t reserve_bytes(size_t *bytes, size_t count, size_t size)
{
    const size_t at = *bytes;
    size_t more;
    if (at == SIZE_MAX || __builtin_mul_overflow(count, size, &more)
        || more > PTRDIFF_MAX - RESERVE_ALIGNMENT
        || __builtin_add_overflow(
            at, (more + RESERVE_ALIGNMENT - 1) / RESERVE_ALIGNMENT * RESERVE_ALIGNMENT, bytes)) {
        *bytes = SIZE_MAX;
        return RESERVE_ALIGNMENT;
    }
    return at;
}

#endif
