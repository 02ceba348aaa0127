/* targets - what the loss compares a model's output with: a row of floats for each image.
 *
 * The loader makes them, because augmentations of the BATCH stage change images and targets
 * together, on the loader's threads. Only a task (tasks/task.h) knows what the elements of a row
 * mean; it gives the loader their format. */
#ifndef SSM2D_DATA_TARGETS_H
#define SSM2D_DATA_TARGETS_H

#include "data/keyed_rng.h"

/* The image that a target is made for. */
typedef struct target_image {
    size_t rows, cols;
    int channels;
    /* [channels][rows][cols], augmented and normalised. The target may be computed from them; a
     * task whose input is a degraded image degrades them here. */
    float *pixels;
    rng random; /* depends only on seed, epoch and image */
} target_image;

/* How Mixup and CutMix act on targets when they mix two images. */
typedef enum target_mixing {
    TARGET_WEIGHTED, /* the mean of both rows, weighted by each image's share */
    TARGET_MAP       /* planes [..][rows][cols], which are mixed as the image's pixels are */
} target_mixing;

/* The initial row, before `make`. */
typedef enum target_source {
    TARGET_FROM_ZEROS,
    TARGET_FROM_LABELS, /* the row of dataset_target */
    TARGET_FROM_MAP     /* [rows][cols]: dataset_fetch_map, transformed as the image is */
} target_source;

enum { TARGET_IGNORED = 255 }; /* in a map: pixels without a label */

typedef struct target_format target_format;
struct target_format {
    size_t elements; /* of a row */
    target_mixing mixing;
    target_source source;
    double smoothing; /* label smoothing, from 0 to below 1; 0 is used in evaluation */
    /* Completes the row, if it is not NULL. Must be thread-safe. */
    void (*make)(const target_format *format, target_image *image, float *target);
};

#endif
