/* keyed_rng - random numbers that depend only on (seed, purpose, epoch, index), and not on the
 * number of threads, the order of execution, or whether a run was resumed. */
#ifndef SSM2D_DATA_KEYED_RNG_H
#define SSM2D_DATA_KEYED_RNG_H

#include "core/rng.h"

#include <stddef.h>

/* What the random numbers are used for. The values are fixed, so that a new purpose does not change
 * the random numbers of the others; augmentations.def has those of the augmentations. */
typedef enum rng_purpose {
    RNG_ORDER = 1,
    RNG_SPLIT = 101, /* augmentations use values below 100 */
    RNG_REPLACEMENT = 102,
    RNG_TARGET = 103,
    RNG_ARROWS = 104,
#define AUGMENTATION(name, PURPOSE, value) RNG_##PURPOSE = value,
#include "data/augmentations.def"
#undef AUGMENTATION
} rng_purpose;

static inline rng keyed_rng(uint64_t seed, rng_purpose purpose, uint64_t epoch, uint64_t index)
{
    rng r = rng_seed(seed);
    r = rng_seed(rng_next(&r) + (uint64_t)purpose);
    r = rng_seed(rng_next(&r) + epoch);
    r = rng_seed(rng_next(&r) + index);
    return rng_seed(rng_next(&r));
}

/* A uniform integer from 0 to n - 1. */
static inline uint64_t rng_below(rng *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* Returns value or -value, with equal probability. */
static inline double rng_sign(rng *r, double value) { return rng_below(r, 2) ? -value : value; }

/* Shuffles a list (Fisher-Yates). */
static inline void rng_shuffle(rng *r, uint32_t *list, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const size_t k = (size_t)rng_below(r, i);
        const uint32_t last = list[i - 1];
        list[i - 1] = list[k];
        list[k] = last;
    }
}

#endif
