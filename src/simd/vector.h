/* vector - the vector type of a body: LANES numbers, by the vector extension of gcc and clang. */
#include <stddef.h>

#define LANES  ((int)(LANE_BYTES / sizeof(real)))
#define INLINE static inline __attribute__((always_inline))

typedef real vec __attribute__((vector_size(LANE_BYTES)));
typedef real vec_anywhere
    __attribute__((vector_size(LANE_BYTES), aligned(sizeof(real)), may_alias));

INLINE vec load(const real *p) { return *(const vec_anywhere *)p; }
INLINE void store(real *p, vec v) { *(vec_anywhere *)p = v; }

/* The sum over lanes, halving, so that it takes log2(LANES) steps. */
INLINE real sum_lanes(vec v)
{
    real out[LANES];
    store(out, v);
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++) out[l] += out[l + width];
    return out[0];
}
