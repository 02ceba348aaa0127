/* picture - reads one image file in the size and channels of a model. */
#ifndef SSM2D_DATA_PICTURE_H
#define SSM2D_DATA_PICTURE_H

#include "data/resize.h"
#include "io/image.h"

/* Decodes an image file and resizes it into out[rows][cols][channels], the sizes of `to`. The
 * options' `reduce` and `user` are not used. */
ssm2d_status picture_read(const ssm2d_context *context, const char *path,
                          const image_read_options *options, resize *to, uint8_t *out,
                          ssm2d_error *error);

#endif
