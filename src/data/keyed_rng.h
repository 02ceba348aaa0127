/* keyed_rng - random numbers as a function of where they are used: (seed, purpose, epoch, index).
 * Neither the number of threads, nor the order of work, nor a resumed run changes them. */
#ifndef SSM2D_DATA_KEYED_RNG_H
#define SSM2D_DATA_KEYED_RNG_H

#include "core/rng.h"

#include <stddef.h>

/* What the numbers are for. The values are fixed, so that a new purpose leaves the numbers of the
 * others as they are; those of the augmentations are in augmentations.def. */
typedef enum rng_purpose {
    RNG_ORDER = 1,
    RNG_SPLIT = 101, /* numbers from 100 on are not for augmentations */
    RNG_REPLACEMENT = 102,
    RNG_TARGET = 103,
#define AUGMENTATION(name, PURPOSE, number) RNG_##PURPOSE = number,
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

/* A whole number from 0 to n - 1. */
static inline uint64_t rng_below(rng *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* Puts a list into a random order: the shuffle of Fisher and Yates. */
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
