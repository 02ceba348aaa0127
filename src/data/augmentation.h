/* augmentation - the interface of an augmentation.
 *
 * To add one: a file augment_NAME.c that ends with `const augmentation augmentation_NAME`
 * (augment_flip.c is the shortest), a line in augmentations.def, and the file's name in
 * CMakeLists.txt. Its options are then settings of a run: on the command line, in files, in help.
 *
 * Its random numbers depend only on (seed, purpose, epoch, image index); in the BATCH stage on
 * (seed, purpose, epoch, batch index). */
#ifndef SSM2D_DATA_AUGMENTATION_H
#define SSM2D_DATA_AUGMENTATION_H

#include "core/field.h"
#include "data/keyed_rng.h"
#include "data/resize.h"
#include "data/targets.h"

/* The stages, in order of execution. */
typedef enum augment_stage {
    AUGMENT_DECODE, /* which region of the source image is resized to the model's size */
    AUGMENT_PIXELS, /* 8-bit pixels, resized to the model's size */
    AUGMENT_FLOATS, /* normalised pixels */
    AUGMENT_BATCH,  /* normalised pixels and targets of a batch */
    AUGMENT_STAGES
} augment_stage;

/* When it is applied: flags. */
enum { AUGMENT_TRAINING = 1, AUGMENT_EVALUATION = 2 };

typedef struct decode_sizes {
    size_t source_rows, source_cols; /* of the stored image */
    size_t rows, cols;               /* of the model's input */
} decode_sizes;

/* A function may swap pixels and spare, which have the same size. */
typedef struct pixel_image {
    size_t rows, cols;
    int channels;
    uint8_t *pixels, *spare; /* [rows][cols][channels] */
    uint8_t fill[3];         /* mean colour of the data */
    uint8_t outside;         /* value of pixels outside the image: black, or TARGET_IGNORED */
} pixel_image;

typedef struct float_image {
    size_t rows, cols;
    int channels;
    float *pixels; /* [channels][rows][cols], with mean 0 and deviation 1 over the data set */
} float_image;

/* A range of consecutive images of a batch. */
typedef struct augment_range {
    size_t first, count;
} augment_range;

/* Only the images in `own` need to be changed. The others belong to other processes, and are read
 * when they are mixed into one of these. */
typedef struct float_batch {
    size_t count, rows, cols;
    augment_range own;
    int channels;
    size_t elements; /* of a target */
    target_mixing mixing;
    float *images;                           /* [count][channels][rows][cols] */
    float *targets;                          /* [count][elements], smoothed */
    float *scratch_images, *scratch_targets; /* with the same sizes */
    uint32_t *partners;                      /* [count], scratch */
} float_batch;

/* How an augmentation of the PIXELS stage treats targets that are maps. */
typedef enum augment_geometry {
    GEOMETRY_STAYS, /* changes only values: not applied to the map */
    GEOMETRY_MOVES, /* only moves pixels: applied to the map too */
    GEOMETRY_BOTH   /* may do both: refused with maps */
} augment_geometry;

typedef struct augmentation {
    const char *name, *help;
    /* Its options, in a private struct of options_size bytes. The table ends with a field without a
     * name. The names are settings, so they must be unique; the defaults turn it off. */
    const ssm2d_field *fields;
    size_t options_size;
    rng_purpose purpose;
    int when; /* AUGMENT_TRAINING | AUGMENT_EVALUATION; in the BATCH stage only training */
    /* Whether the options turn it on; otherwise it is never called. NULL: they do if the value of
     * the first field is not 0. */
    int (*is_on)(const void *options);
    /* Refuses combinations of values that are each valid; may be NULL. */
    ssm2d_status (*check)(const void *options, ssm2d_error *error);
    augment_stage stage; /* selects the member of `run` */
    augment_geometry geometry;
    /* In the BATCH stage: draws the same random numbers as `batch`, and returns whether it reads
     * other images to change image i: only partners[i]. NULL: it may read all of them. */
    int (*partners)(const void *options, rng *r, size_t count, uint32_t *partners);
    /* In the BATCH stage: the name of what changes targets when it is on, such as "Mixup and
     * CutMix". NULL: targets are unchanged. */
    const char *(*mixes_targets)(const void *options);
    union {
        void (*decode)(const void *options, rng *r, const decode_sizes *sizes,
                       resize_region *region);
        void (*pixels)(const void *options, rng *r, pixel_image *image);
        void (*floats)(const void *options, rng *r, float_image *image);
        void (*batch)(const void *options, rng *r, float_batch *batch);
    } run;
} augmentation;

#define AUGMENTATION(name, PURPOSE, value) extern const augmentation augmentation_##name;
#include "data/augmentations.def"
#undef AUGMENTATION

/* The i-th augmentation, from 0; NULL past the last. */
const augmentation *augmentation_at(int i);
int augmentation_is_on(const augmentation *a, const void *options);
/* Additional augmentations for tests, as a NULL-terminated list; they follow those of the table.
 * Set it before creating options, and while no other thread reads the list. */
extern const augmentation *const *augmentation_extra;

#endif
