/* split - holds out training images for choosing the best epoch, and selects a fraction of the rest
 * for training.
 *
 * Both are stratified: they take the same share of the images of every label (with binary labels,
 * of all images), but leave each label an image to train on. The choice depends only on the seed,
 * so a resumed or evaluated run has the same images. Held-out images are chosen first, and do not
 * depend on the fraction for training. */
#ifndef SSM2D_DATA_SPLIT_H
#define SSM2D_DATA_SPLIT_H

#include "data/dataset.h"

typedef struct split_options {
    double val_fraction;   /* of the training images, held out; 0: none */
    double train_fraction; /* of the rest, used for training; 1: all */
    uint64_t seed;
} split_options;

/* The images by which the best epoch is chosen. */
typedef enum split_choice {
    CHOICE_TEST,    /* the test split, if there is nothing else */
    CHOICE_VAL,     /* the data set's validation split */
    CHOICE_HELD_OUT /* images held out from training */
} split_choice;
/* "test", "validation", "held-out" */
const char *split_choice_name(split_choice choice);

/* Opens one split with these options: DATASET_TRAIN has the images for training, DATASET_VAL those
 * for choosing the best epoch, unless these are the test split. */
ssm2d_status split_open(const ssm2d_context *context, const char *where,
                        const split_options *options, dataset_split split, dataset **out,
                        ssm2d_error *error);
/* Opens the images for training, and those for choosing the best epoch. The caller closes both. */
ssm2d_status split_open_training(const ssm2d_context *context, const char *where,
                                 const split_options *options, dataset **train, dataset **choose,
                                 split_choice *choice, ssm2d_error *error);

#endif
