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

/* Opens a PNG or JPEG; the caller ends it with image_close. The format is recognised by the file's
 * first byte, not by its name. Interlaced PNGs and progressive JPEGs are held in memory whole. */
ssm2d_status image_open(const ssm2d_context *context, const char *path, image_reader **reader,
                        image_info *info, ssm2d_error *error);
/* Reads the next row: info.cols * info.channels bytes. Past the last row this is an error. */
ssm2d_status image_read_row(image_reader *reader, uint8_t *row, ssm2d_error *error);
void image_close(image_reader *reader);

typedef struct image_writer image_writer;

/* Starts an 8-bit PNG, grey or RGB, which the caller ends with image_finish or image_abandon. */
ssm2d_status image_create(const ssm2d_context *context, const char *path, const image_info *info,
                          image_writer **writer, ssm2d_error *error);
ssm2d_status image_write_row(image_writer *writer, const uint8_t *row, ssm2d_error *error);
/* Puts the complete file in place. Frees the writer, on failure too. */
ssm2d_status image_finish(image_writer *writer, ssm2d_error *error);
/* Frees the writer; no file appears. */
void image_abandon(image_writer *writer);

#endif
