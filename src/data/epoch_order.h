/* epoch_order - the images of a training epoch and their order: shuffled, each image once, or with
 * repeated augmentation. It depends only on (seed, epoch).
 *
 * REPEAT_PASSES: `repeats` passes over all images, each shuffled differently. REPEAT_IMAGES: each
 * image `repeats` times in a row, as DeiT does in one process; an epoch is as long as without
 * repeats (rounded down to a multiple of 256 as in DeiT, with 256 images or more), so it covers
 * only a part of the images. */
#ifndef SSM2D_DATA_EPOCH_ORDER_H
#define SSM2D_DATA_EPOCH_ORDER_H

#include "ssm2d.h"

typedef enum repeat_kind { REPEAT_PASSES, REPEAT_IMAGES } repeat_kind;

enum { MAX_REPEATS = 100 };

typedef struct epoch_order {
    uint64_t seed;
    size_t count; /* of images */
    size_t repeats;
    repeat_kind kind;
    uint32_t *permutation; /* [count], allocated by the caller */
    /* set by epoch_order_at: the pass whose permutation this is, if `known` */
    uint64_t epoch;
    size_t pass;
    int known;
} epoch_order;

/* An image, and its occurrence in this epoch, from 0; its augmentation depends on both. */
typedef struct epoch_sample {
    uint32_t image, repeat;
} epoch_sample;

/* The number of samples of an epoch. */
size_t epoch_order_length(const epoch_order *o);
/* The sample at a position; fast for consecutive positions. */
epoch_sample epoch_order_at(epoch_order *o, uint64_t epoch, size_t position);

#endif
