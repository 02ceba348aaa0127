/* survey - reads every image of a data set and says what it is made of. */
#ifndef SSM2D_DATA_SURVEY_H
#define SSM2D_DATA_SURVEY_H

#include "data/dataset.h"

typedef struct survey {
    size_t images, bad;
    size_t *of_label; /* [label_count]: images of each class, or with each attribute */
    int label_count;
    size_t rows[2], cols[2]; /* the smallest and the largest image */
    size_t grey;             /* images that are stored without colour, in a data set of colours */
    /* Of all pixels of good images, scaled to [0, 1], per channel; the same three when the data set
     * is grey. Sums are exact, so that the order of images does not matter. */
    double mean[3], std[3];
} survey;

typedef struct survey_hooks {
    void *user;
    void (*progress)(void *user, size_t images);                   /* may be NULL */
    void (*bad)(void *user, size_t image, const ssm2d_error *why); /* may be NULL */
} survey_hooks;

/* Image files are decoded to their end. An image that cannot be read is reported and counted. The
 * caller frees of_label with mem_free. */
ssm2d_status survey_all(const dataset *d, size_t max_pixels, const survey_hooks *hooks, survey *out,
                        ssm2d_error *error);

#endif
