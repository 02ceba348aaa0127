/* direct - the direct algorithm's part of a plan. */
#ifndef SSM2D_CONV_DIRECT_H
#define SSM2D_CONV_DIRECT_H

#include "conv/conv_impl.h"

typedef struct direct_plan {
    int max_a;                      /* images, or row offsets, that share a register block */
    int max_c[CORRELATE_MAX_A + 1]; /* columns of a block with A of them */
    int images;                     /* images that a task convolves together: at most max_a */
    conv_share convolve;            /* tasks for y, and for du */
    conv_share gradient;            /* tasks for the kernel's gradient */
    int short_rows;                 /* y and du are computed in place, by simd short_rows */
    int short_cols;                 /* columns of its widest block */
    size_t tile;                    /* elements of the tile of one vector */
    size_t worker;                  /* elements of the tiles of one worker */
    /* offsets in the memory of an execution: the mirrored kernel, the tiles of all workers, and
     * the kernel gradients of each chunk if there are several */
    size_t mirrored, tiles, partial;
    /* short_rows: the kernel and its mirror image, without padding: [vectors][rows of offsets]
     * [SHORT_TAPS][lanes] */
    size_t packed, packed_mirrored;
} direct_plan;

/* Elements of one vector's packed kernel. */
static inline ptrdiff_t direct_packed_size(const conv_plan *p)
{
    return (ptrdiff_t)(2 * p->layout.trunc_rows - 1) * SHORT_TAPS * p->lanes;
}

void direct_plan_make(conv_plan *plan);
double direct_cost(const conv_plan *plan);
/* Whether a plan of this algorithm computes y and du without copying to tiles. */
static inline int direct_works_in_place(const conv_plan *p)
{
    return ((const direct_plan *)p->own)->short_rows;
}
/* Number of (output cell, input cell) pairs of one channel that an offset of the kernel
 * connects. */
double direct_pairs(const conv_problem *problem);

#endif
