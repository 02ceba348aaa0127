/* loader - batches of a data set, made ahead by threads of its own.
 *
 * Training: the order of an epoch depends on (seed, epoch) only (epoch_order.h), images go through
 * the augmentations of training, and what does not fill a batch at the end of an epoch is left out.
 * Else: images in their order, through the augmentations of evaluation, the last batch is smaller.
 * Either way epoch follows epoch without end. Batches are the same bits whatever the number of
 * threads and of batches ahead, which bound the memory. With skip_bad an image that cannot be read
 * is replaced by another in training, and left out in evaluation. After creation the loader takes
 * no memory; decoding image files does. */
#ifndef SSM2D_DATA_LOADER_H
#define SSM2D_DATA_LOADER_H

#include "data/augment.h"
#include "data/dataset.h"
#include "data/epoch_order.h"
#include "data/targets.h"

enum { MAX_WORKERS = 64 };

typedef struct loader_options {
    size_t batch;
    size_t rows, cols; /* of the model's images */
    int channels;
    int train;
    uint64_t seed;
    augment_options augment;
    target_format targets;
    normalisation norm;
    int ahead;   /* how many batches are kept ready while the caller works on one */
    int workers; /* threads that make them */
    /* repeated augmentation; only when train is set */
    int repeats;
    repeat_kind repeat_kind;
    int skip_bad; /* an image that cannot be read does not end the work */
    /* Several processes may share the images, each with a loader of its own, of which this is
     * number `share` from 0, of `shares`; 0 shares: it has all. In training each has that part of
     * every batch, which divides: the loader reads these images and those that are mixed into them,
     * and leaves the places of the others as they are. In evaluation it has whole batches: share,
     * share + shares, and so on; one that has none must not be asked for any. */
    size_t share, shares;
} loader_options;

typedef struct loader_batch {
    const float *images;         /* [count][channels][rows][cols] */
    const float *targets;        /* [count][elements], as targets.h says, then augmented */
    const epoch_sample *samples; /* [count]: which of the data set's images these are */
    size_t count;                /* 0 when no image of a batch could be read, and skip_bad is set */
    uint64_t epoch;              /* from 0 */
    size_t number;               /* of the batch in its epoch, from 0 */
} loader_batch;

typedef struct loader loader;

/* For evaluation: batch 128, the data set's size, channels and normalisation (size 0 x 0 when it
 * varies), targets that are the rows of dataset_target, no augmentation, seed 0, 2 ahead, 1 worker,
 * no repeats. */
loader_options loader_options_default(const dataset *d);
/* The data set must outlive the loader. */
ssm2d_status loader_create(const ssm2d_context *context, const dataset *d,
                           const loader_options *options, loader **out, ssm2d_error *error);
void loader_destroy(loader *l);         /* does not wait for more than one image per worker */
size_t loader_batches(const loader *l); /* in an epoch */

/* The next batch, which is valid until the next call of next, seek or destroy. When an image cannot
 * be read, the batches before it are given first; the failure is then returned by every call until
 * a seek. */
ssm2d_status loader_next(loader *l, loader_batch *batch, ssm2d_error *error);
/* The next batch will be this one; number may be loader_batches, which is the first of the next
 * epoch. */
ssm2d_status loader_seek(loader *l, uint64_t epoch, size_t number, ssm2d_error *error);
/* The seconds that loader_next has waited for a batch that was not ready, since creation. */
double loader_waited(const loader *l);
/* With skip_bad: how many images could not be read so far; *first says why the one among them that
 * comes first in the data set could not. */
size_t loader_skipped(loader *l, ssm2d_error *first);
/* Which of the data set's images these are, is_bad[*images]; while no batch is being made. */
const uint8_t *loader_bad_images(const loader *l, size_t *images);

#endif
