/* augment_examples - an augmentation for each stage, simple enough for a test to repeat it; to be
 * set as augmentation_extra. */
#ifndef SSM2D_TESTS_AUGMENT_EXAMPLES_H
#define SSM2D_TESTS_AUGMENT_EXAMPLES_H

#include "data/augmentation.h"

#include <string.h>

/* Purposes of random draws that no augmentation of the library uses. */
enum { RNG_EXAMPLE_HALF = 1001, RNG_EXAMPLE_MARK, RNG_EXAMPLE_NOISE, RNG_EXAMPLE_MIX };

/* ---- DECODE: one half of the source, in training and evaluation ------------------------------ */

typedef struct half_options {
    int half;
} half_options;

enum { HALF_OFF, HALF_LEFT, HALF_RIGHT, HALF_RANDOM };
static const char *const half_names[] = {"off", "left", "right", "random", NULL};

static const ssm2d_field half_fields[] = {{"half", "which half of an image is used",
                                           SSM2D_KIND_CHOICE, offsetof(half_options, half), 0, 0,
                                           "off", half_names, NULL},
                                          {0}};

static int half_is_on(const void *options)
{
    return ((const half_options *)options)->half != HALF_OFF;
}

static void half_run(const void *options, rng *r, const decode_sizes *sizes, resize_region *region)
{
    int half = ((const half_options *)options)->half;
    if (half == HALF_RANDOM) half = rng_below(r, 2) ? HALF_RIGHT : HALF_LEFT;
    region->cols = (sizes->source_cols + 1) / 2;
    if (half == HALF_RIGHT) region->left = sizes->source_cols - region->cols;
}

static const augmentation example_half = {
    .name = "half",
    .help = "one half of an image",
    .fields = half_fields,
    .options_size = sizeof(half_options),
    .purpose = (rng_purpose)RNG_EXAMPLE_HALF,
    .when = AUGMENT_TRAINING | AUGMENT_EVALUATION,
    .is_on = half_is_on,
    .stage = AUGMENT_DECODE,
    .run.decode = half_run,
};

/* ---- PIXELS: a white pixel at a given position ----------------------------------------------- */

typedef struct mark_options {
    ssm2d_list mark; /* row and column; 0, 0: none */
} mark_options;

static const ssm2d_field mark_fields[] = {
    {"mark", "row and column that become white; 0 turns it off", SSM2D_KIND_LIST,
     offsetof(mark_options, mark), 0, 1000, "0", NULL, NULL},
    {0}};

static int mark_is_on(const void *options)
{
    return ((const mark_options *)options)->mark.count == 2;
}

static void mark_run(const void *options, rng *r, pixel_image *image)
{
    (void)r;
    const int *at = ((const mark_options *)options)->mark.at;
    const size_t place = (size_t)at[0] * image->cols + (size_t)at[1];
    memset(image->pixels + place * (size_t)image->channels, 255, (size_t)image->channels);
}

static const augmentation example_mark = {
    .name = "mark",
    .help = "a white pixel",
    .fields = mark_fields,
    .options_size = sizeof(mark_options),
    .purpose = (rng_purpose)RNG_EXAMPLE_MARK,
    .when = AUGMENT_TRAINING,
    .is_on = mark_is_on,
    .stage = AUGMENT_PIXELS,
    .run.pixels = mark_run,
};

/* ---- FLOATS: normal noise -------------------------------------------------------------------- */

typedef struct noise_options {
    double noise;
} noise_options;

static const ssm2d_field noise_fields[] = {{"noise", "standard deviation of noise; 0 turns it off",
                                            SSM2D_KIND_REAL, offsetof(noise_options, noise), 0, 10,
                                            "0", NULL, NULL},
                                           {0}};

static int noise_is_on(const void *options) { return ((const noise_options *)options)->noise > 0; }

static void noise_run(const void *options, rng *r, float_image *image)
{
    const double noise = ((const noise_options *)options)->noise;
    for (size_t i = 0; i < image->rows * image->cols * (size_t)image->channels; i++)
        image->pixels[i] += (float)(noise * rng_normal(r));
}

static const augmentation example_noise = {
    .name = "noise",
    .help = "normal noise",
    .fields = noise_fields,
    .options_size = sizeof(noise_options),
    .purpose = (rng_purpose)RNG_EXAMPLE_NOISE,
    .when = AUGMENT_TRAINING,
    .is_on = noise_is_on,
    .stage = AUGMENT_FLOATS,
    .run.floats = noise_run,
};

/* ---- BATCH: each image with its partner in the reversed batch -------------------------------- */

typedef struct mix_options {
    int mix;
} mix_options;

static const ssm2d_field mix_fields[] = {
    {"blend", "mixes images and targets with those of the reversed batch", SSM2D_KIND_FLAG,
     offsetof(mix_options, mix), 0, 1, "false", NULL, NULL},
    {0}};

static int mix_is_on(const void *options) { return ((const mix_options *)options)->mix; }

/* x[i] = weight * x[i] + (1 - weight) * x[count - 1 - i] */
static inline void mix_rows(float *x, float *scratch, size_t count, size_t size, float weight)
{
    memcpy(scratch, x, count * size * sizeof *x);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < size; k++)
            x[i * size + k] =
                weight * scratch[i * size + k] + (1 - weight) * scratch[(count - 1 - i) * size + k];
}

static void mix_run(const void *options, rng *r, float_batch *b)
{
    (void)options;
    const float weight = (float)rng_uniform(r, 0, 1);
    mix_rows(b->images, b->scratch_images, b->count, b->rows * b->cols * (size_t)b->channels,
             weight);
    mix_rows(b->targets, b->scratch_targets, b->count, (size_t)b->elements, weight);
}

static const augmentation example_mix = {
    .name = "blend",
    .help = "mixes images",
    .fields = mix_fields,
    .options_size = sizeof(mix_options),
    .purpose = (rng_purpose)RNG_EXAMPLE_MIX,
    .when = AUGMENT_TRAINING,
    .is_on = mix_is_on,
    .stage = AUGMENT_BATCH,
    .run.batch = mix_run,
};

static const augmentation *const augment_examples[] = {&example_mix, &example_noise, &example_mark,
                                                       &example_half,
                                                       /* deliberately not in the order of stages */
                                                       NULL};

#endif
