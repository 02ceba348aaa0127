/* cifar_png - CIFAR-10 as pictures whose rows are its images, to CIFAR's binary files. */
#ifndef SSM2D_DATA_CIFAR_PNG_H
#define SSM2D_DATA_CIFAR_PNG_H

#include "ssm2d.h"

typedef struct cifar_png {
    const char *picture; /* PNG: a row of 1024 RGB pixels per image, in the order of its pixels */
    const char *labels;  /* JSON: a list of numbers from 0 to 9 */
    size_t first;        /* the label of the picture's first row */
    size_t images;       /* rows that there must be */
    const char *md5;     /* of the result */
} cifar_png;

/* Writes the records to path, which appears when they are complete and have the checksum. progress
 * may be NULL. */
ssm2d_status cifar_png_convert(const ssm2d_context *context, const cifar_png *from,
                               const char *path, void (*progress)(void *user, size_t images),
                               void *user, ssm2d_error *error);

#endif
