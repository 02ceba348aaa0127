/* augment - from stored images to what a model reads: the augmentations that are on, stage by stage
 * (augmentation.h), around resizing and normalising.
 *
 *     augment_begin(a, epoch, i);
 *     dataset_fetch(data, i, augment_resize(a), augment_pixels(a), &error);    DECODE
 *     augment_end(a, image);                                                   PIXELS, FLOATS
 *     ... and after the last image of a batch
 *     augment_batch(a, epoch, number, count, images, targets);                 BATCH
 */
#ifndef SSM2D_DATA_AUGMENT_H
#define SSM2D_DATA_AUGMENT_H

#include "data/augment_options.h"
#include "data/dataset.h"
#include "data/targets.h"

typedef struct augment_setup {
    const augment_options *options; /* copied */
    int when;                       /* AUGMENT_TRAINING or AUGMENT_EVALUATION */
    uint64_t seed;
    normalisation norm;
    size_t rows, cols; /* of the model's images */
    int channels;
    size_t batch;   /* largest count that augment_batch is given; 0: it is not called */
    size_t targets; /* elements of a target, and how they are mixed */
    target_mixing mixing;
    int with_map; /* targets begin as maps (targets.h) */
} augment_setup;

typedef struct augment augment;

/* One thread at a time uses it. */
ssm2d_status augment_create(const ssm2d_context *context, const augment_setup *setup, augment **out,
                            ssm2d_error *error);
void augment_destroy(augment *a);

/* Begins an image, which is known by its epoch and its index in the data set. */
void augment_begin(augment *a, uint64_t epoch, uint64_t image);
/* What the image begun is resized with, and where its pixels [rows][cols][channels] go. */
resize *augment_resize(augment *a);
uint8_t *augment_pixels(augment *a);
/* Those pixels as numbers, out[channels][rows][cols]: (pixel / 255 - mean) / std of each channel,
 * before and after which the augmentations act. */
void augment_end(augment *a, float *out);
/* The same for the map of the image begun, with setup.with_map: one byte per pixel, resized without
 * interpolation and moved as the image is. out[rows][cols]. */
resize *augment_map_resize(augment *a);
uint8_t *augment_map_pixels(augment *a);
void augment_map_end(augment *a, float *out);
/* Changes images[count][channels][rows][cols] and targets[count][elements] in place: those of
 * `own`. The others need only be there when these need them. */
void augment_batch(augment *a, uint64_t epoch, uint64_t number, size_t count, augment_range own,
                   float *images, float *targets);
/* Says which images augment_batch will read to change one: no other, that of partners[i], or all.
 * Several threads may call it. */
typedef enum augment_needs {
    AUGMENT_NEEDS_NONE,
    AUGMENT_NEEDS_PARTNERS,
    AUGMENT_NEEDS_ALL
} augment_needs;
augment_needs augment_partners(const augment *a, uint64_t epoch, uint64_t number, size_t count,
                               uint32_t *partners);

#endif
