/* split - parts of a data set: images held out from training for choosing the best epoch, and
 * training on a fraction of the rest.
 *
 * Both take the same share of every class (of images with binary labels, of all), but leave each
 * class an image to train on. They are chosen by the seed and by nothing else: the same images
 * whenever a run is resumed or evaluated. What is held out is chosen first, and does not depend on
 * the fraction that is trained on. */
#ifndef SSM2D_DATA_SPLIT_H
#define SSM2D_DATA_SPLIT_H

#include "data/dataset.h"

typedef struct split_options {
    double val_fraction;   /* of the training images that is held out; 0: none */
    double train_fraction; /* of the rest that is trained on; 1: all */
    uint64_t seed;
} split_options;

/* What the best epoch is chosen by. */
typedef enum split_choice {
    CHOICE_TEST,    /* the test images, as there is nothing else */
    CHOICE_VAL,     /* validation images that the data set comes with */
    CHOICE_HELD_OUT /* images held out from training */
} split_choice;
/* "test", "validation", "held-out" */
const char *split_choice_name(split_choice choice);

/* One split as the options make it: DATASET_TRAIN is what is trained on, DATASET_VAL what the best
 * epoch is chosen by, unless that is the test. */
ssm2d_status split_open(const ssm2d_context *context, const char *where,
                        const split_options *options, dataset_split split, dataset **out,
                        ssm2d_error *error);
/* The images to train on, and those to choose the best epoch by. The caller closes both. */
ssm2d_status split_open_training(const ssm2d_context *context, const char *where,
                                 const split_options *options, dataset **train, dataset **choose,
                                 split_choice *choice, ssm2d_error *error);

#endif
