/* aligned_arrays - arrays that begin at a cache line, as SIMD bodies expect. */
#ifndef TESTS_ALIGNED_ARRAYS_H
#define TESTS_ALIGNED_ARRAYS_H

#include "core/real.h"
#include "core/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline real *zeros(size_t count)
{
    real *p = aligned_alloc(64, (count * sizeof *p + 63) / 64 * 64);
    assert_non_null(p);
    memset(p, 0, count * sizeof *p);
    return p;
}

/* Normally distributed values, the same for the same seed. */
static inline real *normals(size_t count, uint64_t seed)
{
    rng r = rng_seed(seed);
    real *p = zeros(count);
    for (size_t i = 0; i < count; i++) p[i] = (real)rng_normal(&r);
    return p;
}

#endif
