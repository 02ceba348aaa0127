/* samples - small images that are kept in memory as stored in their file: 8 bits, a plane per
 * channel, and one byte per label. */
#ifndef SSM2D_DATA_SAMPLES_H
#define SSM2D_DATA_SAMPLES_H

#include "data/dataset_impl.h"

typedef struct samples {
    uint8_t *blocks[2];             /* memory, freed by samples_close */
    const uint8_t *pixels, *labels; /* of the first image: [channels][rows][cols], and one byte */
    size_t pixels_stride, label_stride;
} samples;

/* Sets d->state to an empty `samples`. An implementation's `open` calls it and fills it in; the
 * functions below are its fetch, label and close. */
ssm2d_status samples_create(dataset *d, samples **out, ssm2d_error *error);
ssm2d_status samples_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error);
int samples_label(const dataset *d, size_t i);
void samples_close(dataset *d);
/* Refuses labels of label_count or more. `path` is for messages. */
ssm2d_status samples_check(const dataset *d, const char *path, ssm2d_error *error);

#endif
