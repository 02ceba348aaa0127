#include "core/rng.h"

#include <math.h>

rng rng_seed(uint64_t seed) { return (rng){.state = seed}; }

uint64_t rng_next(rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double rng_uniform(rng *r, double low, double high)
{
    return low + (high - low) * ((double)(rng_next(r) >> 11) * 0x1p-53);
}

double rng_normal(rng *r)
{
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    double radius = sqrt(-2 * log(1 - rng_uniform(r, 0, 1)));
    double angle = 6.283185307179586 * rng_uniform(r, 0, 1);
    r->spare = radius * sin(angle);
    r->has_spare = 1;
    return radius * cos(angle);
}
