/* two_sided - the memory layout of a kernel with offsets of both signs.
 *
 * Offsets run from -(trunc_rows-1) to trunc_rows-1 and from -(trunc_cols-1) to trunc_cols-1; offset
 * (d, o) connects output cell (i, j) to input cell (i-d, j-o). Channels are grouped in vectors of
 * `lanes`; each vector has a block of two_sided_size elements, and blocks are contiguous. In a
 * block, rows of offsets are followed, and the first one is preceded, by TWO_SIDED_PADDING zero
 * vectors, because a block of outputs in registers reads past the ends of a row. Lanes past the
 * last channel are zero. */
#ifndef SSM2D_CONV_TWO_SIDED_H
#define SSM2D_CONV_TWO_SIDED_H

#include "simd/simd_table.h"

enum { TWO_SIDED_PADDING = CORRELATE_MAX_C - 1 };

typedef struct two_sided {
    int trunc_rows, trunc_cols, lanes;
} two_sided;

/* Stride in elements from one row offset to the next. */
static inline ptrdiff_t two_sided_row(const two_sided *k)
{
    return (ptrdiff_t)(2 * k->trunc_cols - 1 + TWO_SIDED_PADDING) * k->lanes;
}

/* Elements of the block of one vector of channels. */
static inline size_t two_sided_size(const two_sided *k)
{
    return (size_t)TWO_SIDED_PADDING * (size_t)k->lanes
           + (size_t)(2 * k->trunc_rows - 1) * (size_t)two_sided_row(k);
}

/* Index of offset (d, o) in a block. */
static inline ptrdiff_t two_sided_at(const two_sided *k, int d, int o)
{
    return (ptrdiff_t)(TWO_SIDED_PADDING + o + k->trunc_cols - 1) * k->lanes
           + (d + k->trunc_rows - 1) * two_sided_row(k);
}

#endif
