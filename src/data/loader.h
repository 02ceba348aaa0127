/* loader - batches of a data set, prepared ahead by worker threads.
 *
 * In training the order of an epoch depends only on (seed, epoch) (epoch_order.h), images get the
 * augmentations of training, and an incomplete last batch is dropped. In evaluation images come in
 * order, with the augmentations of evaluation, and the last batch may be smaller. Epochs follow
 * each other endlessly. Batches do not depend on the number of threads or of batches ahead, to the
 * bit. With skip_bad an unreadable image is replaced by another in training, and left out in
 * evaluation. After creation only the decoding of image files allocates memory. */
#ifndef SSM2D_DATA_LOADER_H
#define SSM2D_DATA_LOADER_H

#include "data/augment.h"
#include "data/dataset.h"
#include "data/epoch_order.h"
#include "data/targets.h"

enum { MAX_WORKERS = 64 };

typedef struct loader_options {
    size_t batch;
    size_t rows, cols; /* of the model's input */
    int channels;
    int train;
    uint64_t seed;
    augment_options augment;
    target_format targets;
    normalisation norm;
    int ahead;   /* batches that are prepared while the caller uses one */
    int workers; /* threads */
    /* repeated augmentation; only in training */
    int repeats;
    repeat_kind repeat_kind;
    int skip_bad; /* an unreadable image is not a failure */
    /* Several processes may share the images: this loader has share `share`, from 0, of `shares`;
     * 0 shares: all. In training it has this part of every batch, whose size must be a multiple of
     * shares: it reads these images and those that are mixed into them, and does not write the
     * others. In evaluation it has whole batches: share, share + shares, and so on. If that is
     * none, loader_next must not be called. */
    size_t share, shares;
} loader_options;

typedef struct loader_batch {
    const float *images;         /* [count][channels][rows][cols] */
    const float *targets;        /* [count][elements], as targets.h says, then augmented */
    const epoch_sample *samples; /* [count]: the images' indices in the data set */
    size_t count;                /* may be 0 with skip_bad */
    uint64_t epoch;              /* from 0 */
    size_t index;                /* of the batch in its epoch */
} loader_batch;

typedef struct loader loader;

/* Evaluation in batches of 128 with the data set's size (0 x 0 if it varies), channels and
 * normalisation, the rows of dataset_target as targets, no augmentation, seed 0, 2 batches ahead, 1
 * worker, no repeats. */
loader_options loader_options_default(const dataset *d);
/* The data set must outlive the loader. */
ssm2d_status loader_create(const ssm2d_context *context, const dataset *d,
                           const loader_options *options, loader **out, ssm2d_error *error);
void loader_destroy(loader *l);         /* waits for at most one image per worker */
size_t loader_batches(const loader *l); /* in an epoch */

/* Gets the next batch, which is valid until the next call of next, seek or destroy. If an image
 * cannot be read, the batches before it come first; then every call fails until a seek. */
ssm2d_status loader_next(loader *l, loader_batch *batch, ssm2d_error *error);
/* Continues with this batch; index may be loader_batches, which is the first of the next epoch. */
ssm2d_status loader_seek(loader *l, uint64_t epoch, size_t index, ssm2d_error *error);
/* The seconds that loader_next has waited for batches since creation. */
double loader_waited(const loader *l);
/* With skip_bad: returns the number of images that could not be read so far; *first is the error of
 * the first of them in the data set. */
size_t loader_skipped(loader *l, ssm2d_error *first);
/* Returns is_bad[*images]: which images of the data set could not be read. Call it only while no
 * batch is being prepared. */
const uint8_t *loader_bad_images(const loader *l, size_t *images);

#endif
