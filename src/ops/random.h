/* random - numbers in [0, 1) that depend only on (seed, step, node, index), so that order and
 * threads do not matter. The index is one in the whole batch, of which a run may have a slice. */
#ifndef SSM2D_OPS_RANDOM_H
#define SSM2D_OPS_RANDOM_H

#include "core/rng.h"
#include "graph/graph.h"

static inline uint64_t random_key(const graph *g, const node *n)
{
    rng r = rng_seed(g->seed ^ 0x6a09e667f3bcc909u);
    uint64_t key = rng_next(&r) + g->step;
    r = rng_seed(key);
    return rng_next(&r) + (uint64_t)n->index * 0x9e3779b97f4a7c15u;
}

static inline double random_at(uint64_t key, size_t index)
{
    rng r = rng_seed(key ^ (uint64_t)index * 0xd1342543de82ef95u);
    return rng_uniform(&r, 0, 1);
}

#endif
