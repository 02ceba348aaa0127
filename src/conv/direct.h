/* direct - what planning decides for the direct algorithm. */
#ifndef SSM2D_CONV_DIRECT_H
#define SSM2D_CONV_DIRECT_H

#include "conv/conv_impl.h"

typedef struct direct_plan {
    int max_a;                      /* images, or row offsets, that share a register block */
    int max_c[CORRELATE_MAX_A + 1]; /* columns of a block of A of them */
    int images;                     /* that a task convolves together: at most max_a */
    conv_share convolve;            /* of y, and of du */
    conv_share gradient;            /* of the kernel's gradient */
    size_t tile;                    /* numbers of the tile of one vector */
    size_t worker;                  /* numbers of the tiles of one worker */
    /* offsets in the memory of an execution: the mirrored kernel, the tiles of all workers, and
     * the kernel gradients of each chunk if there are several */
    size_t mirrored, tiles, partial;
} direct_plan;

void direct_plan_make(conv_plan *plan);
double direct_cost(const conv_plan *plan);
/* Pairs of an output and an input cell of one channel that some offset joins. */
double direct_pairs(const conv_problem *problem);

#endif
