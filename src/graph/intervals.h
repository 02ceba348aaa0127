/* intervals - sets of integers kept as sorted intervals: which bytes of a block are taken, which
 * columns of a gradient have been written. Internal to src/graph.
 *
 * A set is an int, 0 when it is empty; all sets of a pool share its memory. Intervals that touch
 * are kept as one, so that a set is as long as it has gaps. */
#ifndef SSM2D_GRAPH_INTERVALS_H
#define SSM2D_GRAPH_INTERVALS_H

#include "core/context.h"

typedef struct interval {
    size_t begin, end; /* [begin, end) */
    int next;          /* the following one in the set, or 0 */
} interval;

typedef struct interval_pool {
    const ssm2d_context *context;
    interval *all;
    size_t capacity;
    int used, unused; /* unused: the first of a list of intervals to be used again */
    int failed;       /* out of memory for an interval; the sets are incomplete */
} interval_pool;

void interval_pool_free(interval_pool *p);

/* Adds [begin, end). */
void interval_add(interval_pool *p, int *set, size_t begin, size_t end);
/* The lowest value >= from such that the `size` values from it on are not in the set. */
size_t interval_lowest_fit(const interval_pool *p, int set, size_t from, size_t size);
/* The first gap of the set in [*begin, end), as [*begin, *gap_end); 0 when there is none. */
int interval_gap(const interval_pool *p, int set, size_t *begin, size_t end, size_t *gap_end);

#endif
