/* augmentation - one way of changing images on their way to the model, as its own file describes
 * it.
 *
 * To add one: a file augment_NAME.c that ends with `const augmentation augmentation_NAME`
 * (augment_flip.c is the shortest), a line in augmentations.def, and the file's name in
 * CMakeLists.txt. Its options are then settings of a run: on the command line, in files, in help.
 *
 * What it draws depends on (seed, its purpose, epoch, image) and on nothing else; in the BATCH
 * stage on (seed, its purpose, epoch, number of the batch). */
#ifndef SSM2D_DATA_AUGMENTATION_H
#define SSM2D_DATA_AUGMENTATION_H

#include "core/field.h"
#include "data/keyed_rng.h"
#include "data/resize.h"
#include "data/targets.h"

/* The stages, in their order. */
typedef enum augment_stage {
    AUGMENT_DECODE, /* which region of the source image is resized to the model's size */
    AUGMENT_PIXELS, /* 8-bit pixels in the model's size */
    AUGMENT_FLOATS, /* normalised numbers */
    AUGMENT_BATCH,  /* the numbers and targets of a whole batch */
    AUGMENT_STAGES
} augment_stage;

/* When it acts, a sum of these. */
enum { AUGMENT_TRAINING = 1, AUGMENT_EVALUATION = 2 };

typedef struct decode_sizes {
    size_t source_rows, source_cols; /* the image as it is stored */
    size_t rows, cols;               /* the model's images */
} decode_sizes;

/* A function may exchange pixels and spare, which are of one size. */
typedef struct pixel_image {
    size_t rows, cols;
    int channels;
    uint8_t *pixels, *spare; /* [rows][cols][channels] */
    uint8_t fill[3];         /* the mean colour of the data */
    uint8_t outside;         /* what comes in from the sides: black, or TARGET_IGNORED */
} pixel_image;

typedef struct float_image {
    size_t rows, cols;
    int channels;
    float *numbers; /* [channels][rows][cols], mean 0 and deviation 1 over the data set */
} float_image;

/* Some images of a batch, which follow each other. */
typedef struct augment_range {
    size_t first, count;
} augment_range;

/* Images outside `own`, which another process has, are read where they are mixed in, and need not
 * be changed. */
typedef struct float_batch {
    size_t count, rows, cols;
    augment_range own;
    int channels;
    size_t elements; /* of a target */
    target_mixing mixing;
    float *images;                           /* [count][channels][rows][cols] */
    float *targets;                          /* [count][elements], smoothed */
    float *scratch_images, *scratch_targets; /* of the same sizes */
    uint32_t *partners;                      /* [count], scratch */
} float_batch;

/* What an augmentation of PIXELS does to the places of pixels, which matters for targets that are
 * maps. */
typedef enum augment_geometry {
    GEOMETRY_STAYS, /* it changes values alone */
    GEOMETRY_MOVES, /* it moves pixels alone, and is called for the map as well */
    GEOMETRY_BOTH   /* it may do both, and is refused with maps */
} augment_geometry;

typedef struct augmentation {
    const char *name, *help;
    /* Its options, in a struct of its own of options_size bytes: the table ends with a field
     * without a name. The names are settings and differ from all others; the defaults switch it
     * off. */
    const ssm2d_field *fields;
    size_t options_size;
    rng_purpose purpose;
    int when; /* AUGMENT_TRAINING, AUGMENT_EVALUATION or their sum; a BATCH only in training */
    /* Whether these options let it do anything. When they do not, it is never called. */
    int (*is_on)(const void *options);
    /* Options that are good one by one but do not go together; may be NULL. */
    ssm2d_status (*check)(const void *options, ssm2d_error *error);
    augment_stage stage; /* says which of the functions there is */
    augment_geometry geometry;
    /* In the BATCH stage: draws as `batch` does, and returns whether images are changed with the
     * help of others: each with that of partners[i]. NULL: with that of all. */
    int (*partners)(const void *options, rng *r, size_t count, uint32_t *partners);
    /* In the BATCH stage: what changes targets, when it is on, as in "Mixup and CutMix". NULL:
     * targets stay as they are. */
    const char *(*mixes_targets)(const void *options);
    union {
        void (*decode)(const void *options, rng *r, const decode_sizes *sizes,
                       resize_region *region);
        void (*pixels)(const void *options, rng *r, pixel_image *image);
        void (*floats)(const void *options, rng *r, float_image *image);
        void (*batch)(const void *options, rng *r, float_batch *batch);
    } run;
} augmentation;

#define AUGMENTATION(name, PURPOSE, number) extern const augmentation augmentation_##name;
#include "data/augmentations.def"
#undef AUGMENTATION

/* The i-th augmentation, from 0; NULL past the last. */
const augmentation *augmentation_at(int i);
/* Augmentations of a test, which follow those of the table; the last element is NULL. NULL: none.
 * Set it before any options are made, and while no other thread reads the list. */
extern const augmentation *const *augmentation_extra;

#endif
