/* survey - reads every image of a data set and collects statistics. */
#ifndef SSM2D_DATA_SURVEY_H
#define SSM2D_DATA_SURVEY_H

#include "data/dataset.h"

typedef struct survey {
    size_t images, bad;
    size_t *of_label; /* [label_count]: images with each label */
    int label_count;
    size_t rows[2], cols[2]; /* minimum and maximum */
    size_t grey;             /* grey images in a colour data set */
    /* Per channel, of all pixels of readable images, scaled to [0, 1]; three equal values for a
     * grey data set. Sums are exact, so the order of images does not matter. */
    double mean[3], std[3];
} survey;

typedef struct survey_hooks {
    void *user;
    void (*progress)(void *user, size_t images);                   /* may be NULL */
    void (*bad)(void *user, size_t image, const ssm2d_error *why); /* may be NULL */
} survey_hooks;

/* Decodes all images completely. Unreadable images are reported and counted. The caller frees
 * of_label with mem_free. */
ssm2d_status survey_all(const dataset *d, size_t max_pixels, const survey_hooks *hooks, survey *out,
                        ssm2d_error *error);

#endif
