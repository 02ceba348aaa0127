/* cifar_png - converts CIFAR-10 from PNGs with an image per row to CIFAR's binary files. */
#ifndef SSM2D_DATA_CIFAR_PNG_H
#define SSM2D_DATA_CIFAR_PNG_H

#include "ssm2d.h"

typedef struct cifar_png {
    const char *picture; /* PNG: a row of 1024 RGB pixels per image */
    const char *labels;  /* JSON: a list of integers from 0 to 9 */
    size_t first;        /* index of the first row's label */
    size_t images;       /* expected number of rows */
    const char *md5;     /* of the result */
} cifar_png;

/* Writes the records to path, which appears once they are complete and have the expected checksum.
 * progress may be NULL. */
ssm2d_status cifar_png_convert(const ssm2d_context *context, const cifar_png *from,
                               const char *path, void (*progress)(void *user, size_t images),
                               void *user, ssm2d_error *error);

#endif
