/* augment - prepares stored images for a model: applies the augmentations that are on, stage by
 * stage (augmentation.h), and resizes and normalises.
 *
 *     augment_begin(a, epoch, i);
 *     dataset_fetch(data, i, augment_resize(a), augment_pixels(a), &error);    DECODE
 *     augment_end(a, image);                                                   PIXELS, FLOATS
 *     ... and after the last image of a batch
 *     augment_batch(a, epoch, index, count, own, images, targets);             BATCH
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
    size_t batch;   /* maximum count for augment_batch; 0: it is not called */
    size_t targets; /* elements of a target */
    target_mixing mixing;
    int with_map; /* targets are made from maps (targets.h) */
} augment_setup;

typedef struct augment augment;

/* Not thread-safe: each thread needs its own. */
ssm2d_status augment_create(const ssm2d_context *context, const augment_setup *setup, augment **out,
                            ssm2d_error *error);
void augment_destroy(augment *a);

/* Begins an image, identified by its epoch and its index in the data set. */
void augment_begin(augment *a, uint64_t epoch, uint64_t image);
/* The resizer for the current image, and the buffer [rows][cols][channels] for its pixels. */
resize *augment_resize(augment *a);
uint8_t *augment_pixels(augment *a);
/* Applies the PIXELS stage, normalises to out[channels][rows][cols], (pixel / 255 - mean) / std per
 * channel, and applies the FLOATS stage. */
void augment_end(augment *a, float *out);
/* The same for the map of the current image, with setup.with_map: one byte per pixel, resized
 * without interpolation, and transformed as the image is. out[rows][cols]. */
resize *augment_map_resize(augment *a);
uint8_t *augment_map_pixels(augment *a);
void augment_map_end(augment *a, float *out);
/* Applies the BATCH stage to the images in `own`, in place: images[count][channels][rows][cols] and
 * targets[count][elements]. Other images are read only as augment_partners says. `index` is that of
 * the batch in its epoch. */
void augment_batch(augment *a, uint64_t epoch, uint64_t index, size_t count, augment_range own,
                   float *images, float *targets);
/* Returns which other images augment_batch reads to change image i: none, partners[i], or all.
 * Thread-safe. */
typedef enum augment_needs {
    AUGMENT_NEEDS_NONE,
    AUGMENT_NEEDS_PARTNERS,
    AUGMENT_NEEDS_ALL
} augment_needs;
augment_needs augment_partners(const augment *a, uint64_t epoch, uint64_t index, size_t count,
                               uint32_t *partners);

#endif
