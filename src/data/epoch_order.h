/* epoch_order - which images an epoch of training has, and in which order: shuffled, with every
 * image once, or with repeated augmentation. What an epoch is depends on (seed, epoch) alone.
 *
 * REPEAT_PASSES: as many passes over all images, each in an order of its own, one after the other.
 * REPEAT_IMAGES: an image as often in a row, as DeiT does in one process; an epoch is as long as
 * without repeats (a multiple of 256, as there, when there are as many images), so that it sees
 * only a part of the images. */
#ifndef SSM2D_DATA_EPOCH_ORDER_H
#define SSM2D_DATA_EPOCH_ORDER_H

#include "ssm2d.h"

typedef enum repeat_kind { REPEAT_PASSES, REPEAT_IMAGES } repeat_kind;

enum { MAX_REPEATS = 100 };

typedef struct epoch_order {
    uint64_t seed;
    size_t count; /* images */
    size_t repeats;
    repeat_kind kind;
    /* the rest is set by epoch_order_at: the permutation of this pass of this epoch */
    uint32_t *permutation; /* [count], the caller's memory */
    uint64_t epoch;
    size_t pass;
    int known;
} epoch_order;

/* An image, and how often it came before in this epoch: its augmentation depends on both. */
typedef struct epoch_sample {
    uint32_t image, repeat;
} epoch_sample;

/* The number of samples of an epoch. */
size_t epoch_order_length(const epoch_order *o);
/* The sample at a position; fast when positions follow each other. */
epoch_sample epoch_order_at(epoch_order *o, uint64_t epoch, size_t position);

#endif
