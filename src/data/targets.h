/* targets - what a loss compares the output of a model with: a row of floats for each image.
 *
 * The loader makes them, because augmentations of batches change images and targets together, on
 * the loader's threads. What the elements of a row mean is known to a task (tasks/task.h) alone:
 * the loader goes by the format that the task gives it. */
#ifndef SSM2D_DATA_TARGETS_H
#define SSM2D_DATA_TARGETS_H

#include "data/keyed_rng.h"

/* The image that a target is made for. */
typedef struct target_image {
    size_t rows, cols;
    int channels;
    /* [channels][rows][cols], augmented and normalised. The target may be computed from it; a task
     * whose input is a degraded image degrades it here. */
    float *pixels;
    rng random; /* depends on the seed, the epoch and the image alone */
} target_image;

/* How Mixup and CutMix act on targets when they mix two images. */
typedef enum target_mixing {
    TARGET_WEIGHTED, /* the mean of both rows, weighted by each image's share */
    TARGET_MAP       /* planes [..][rows][cols] over the image, which are mixed as its pixels are */
} target_mixing;

/* What the row begins as, before `make`. */
typedef enum target_source {
    TARGET_FROM_ZEROS,
    TARGET_FROM_LABELS, /* the row of dataset_target */
    TARGET_FROM_MAP     /* [rows][cols]: the map of dataset_fetch_map, moved as the image is */
} target_source;

enum { TARGET_IGNORED = 255 }; /* in a map: no label is known */

typedef struct target_format target_format;
struct target_format {
    size_t elements; /* of a row */
    target_mixing mixing;
    target_source source;
    double smoothing; /* label smoothing, from 0 to below 1; the loader uses 0 in evaluation */
    /* Completes the row; NULL: it is complete. Called by several threads at once. */
    void (*make)(const target_format *format, target_image *image, float *target);
};

#endif
