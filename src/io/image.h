/* image - PNG and JPEG, row by row, so that memory does not depend on the height. */
#ifndef SSM2D_IO_IMAGE_H
#define SSM2D_IO_IMAGE_H

#include "io/file.h"

typedef struct image_reader image_reader;

typedef struct image_info {
    size_t rows, cols;
    /* 1 grey or 3 RGB; alpha is blended over white, 16-bit samples are reduced to 8 */
    int channels;
} image_info;

/* What the file is, is told by its first bytes, not its name. Interlaced PNGs (and progressive
 * JPEGs) are read whole. */
ssm2d_status image_open(const ssm2d_context *context, const char *path, image_reader **reader,
                        image_info *info, ssm2d_error *error);
/* The next row: info.cols * info.channels bytes. Past the last row: an error. */
ssm2d_status image_read_row(image_reader *reader, uint8_t *row, ssm2d_error *error);
void image_close(image_reader *reader);

typedef struct image_writer image_writer;

/* An 8-bit PNG, grey or RGB, that appears when finished and not before. */
ssm2d_status image_create(const ssm2d_context *context, const char *path, const image_info *info,
                          image_writer **writer, ssm2d_error *error);
ssm2d_status image_write_row(image_writer *writer, const uint8_t *row, ssm2d_error *error);
/* frees the writer whatever happens */
ssm2d_status image_finish(image_writer *writer, ssm2d_error *error);
void image_abandon(image_writer *writer);

#endif
