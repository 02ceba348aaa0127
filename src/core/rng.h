/* rng - random numbers that depend on nothing but the seed: splitmix64 with Box-Muller normals. */
#ifndef SSM2D_CORE_RNG_H
#define SSM2D_CORE_RNG_H

#include <stdint.h>

typedef struct rng {
    uint64_t state;
    double spare; /* the second normal of a pair */
    int has_spare;
} rng;

rng rng_seed(uint64_t seed);
uint64_t rng_next(rng *r);
double rng_uniform(rng *r, double low, double high); /* in [low, high) */
double rng_normal(rng *r);                           /* mean 0, variance 1 */

#endif
