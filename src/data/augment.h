/* augment - from 8-bit pixels to what a model reads: random changes when training, then scaling and
 * normalisation.
 *
 * A step changes 8-bit images in place; steps run in the order of the table in augment.c. What a
 * step draws depends on (seed, its purpose, epoch, image) and on nothing else. */
#ifndef SSM2D_DATA_AUGMENT_H
#define SSM2D_DATA_AUGMENT_H

#include "core/rng.h"
#include "data/dataset.h"

typedef struct augment_options {
    int flip; /* mirrors every second image, on average */
    /* p: a crop of the same size out of the image with p black pixels around it */
    int crop_padding;
} augment_options;

augment_options augment_options_default(void);
/* Every field of augment_options, so that a program can list, parse and bound them. */
const ssm2d_field *augment_options_fields(size_t *count);
ssm2d_status augment_options_check(const augment_options *options, ssm2d_error *error);

/* An image on its way through the steps. A step may exchange pixels and spare, which are of one
 * size. */
typedef struct work_image {
    size_t rows, cols;
    int channels;
    uint8_t *pixels, *spare; /* [rows][cols][channels] */
} work_image;

typedef struct augment_step {
    int purpose; /* of its random numbers, a rng_purpose */
    void (*run)(const augment_options *options, rng *r, work_image *image);
} augment_step;

typedef struct augment augment;

ssm2d_status augment_create(const ssm2d_context *context, const augment_options *options,
                            const normalisation *norm, size_t rows, size_t cols, int channels,
                            augment **out, ssm2d_error *error);
void augment_destroy(augment *a);
/* Where the pixels [rows][cols][channels] of the next image go. */
uint8_t *augment_pixels(augment *a);
/* Those pixels through all steps, then normalised. One thread at a time. */
void augment_train(augment *a, uint64_t seed, uint64_t epoch, uint64_t image, float *out);
/* Only normalised: out[channels][rows][cols] = (pixel / 255 - mean) / std. */
void augment_plain(const augment *a, float *out);

#endif
