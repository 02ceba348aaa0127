/* picture - one image file, in the size and channels that a model takes. */
#ifndef SSM2D_DATA_PICTURE_H
#define SSM2D_DATA_PICTURE_H

#include "data/resize.h"

/* Decodes an image file and resizes it into out[rows][cols][channels], the sizes of `to`.
 * Refuses a file of more than max_pixels pixels before decoding it. */
ssm2d_status picture_read(const ssm2d_context *context, const char *path, size_t max_pixels,
                          resize *to, uint8_t *out, ssm2d_error *error);
/* The same for a regular file, or a link to one: the files of a data folder are never waited
 * for. */
ssm2d_status picture_read_regular(const ssm2d_context *context, const char *path, size_t max_pixels,
                                  resize *to, uint8_t *out, ssm2d_error *error);

#endif
