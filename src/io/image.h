/* image - reads and writes image files in several formats, row by row. PNG and JPEG need memory for
 * a few rows, unless they are interlaced, progressive or rotated; others are decoded whole. */
#ifndef SSM2D_IO_IMAGE_H
#define SSM2D_IO_IMAGE_H

#include "io/file.h"

#include <stdint.h>

/* A row has cols * channels samples: bytes, or with depth 16 uint16_t. */
typedef struct image_info {
    size_t rows, cols;
    int channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha */
    int depth;    /* bits of a sample: 8 or 16; 0 means 8 */
} image_info;

/* Return the number of colour channels, 1 or 3, and the bytes of a row. */
static inline int image_colours(const image_info *info) { return info->channels < 3 ? 1 : 3; }
static inline size_t image_row_bytes(const image_info *info)
{
    return info->cols * (size_t)info->channels * (info->depth == 16 ? 2 : 1);
}

/* A sample of 8 bits blended over white, rounded to the nearest. */
static inline uint8_t blend_white(uint8_t sample, uint8_t alpha)
{
    return (uint8_t)((sample * alpha + 255 * (255 - alpha) + 127) / 255);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Write the formats that this build reads, "PNG, JPEG, BMP, ..", or their file extensions, "*.png,
 * *.jpg, ..", to text and return text. */
enum { IMAGE_LIST = 160 }; /* bytes of such a list */
const char *image_kinds(char text[IMAGE_LIST]);
const char *image_endings(char text[IMAGE_LIST]);
/* Whether a file name has one of these extensions, ignoring case. */
int image_named(const char *name);

typedef struct image_reader image_reader;

#define IMAGE_MAX_PIXELS ((size_t)1 << 28) /* the default limit */

typedef struct image_read_options {
    size_t max_pixels; /* refuse an image of more before decoding it; 0: no limit */
    int exact;         /* keep alpha and 16 bits; else alpha is blended over white, in 8 bits */
    int regular;       /* accept only regular files and links to them */
    FILE *stream;      /* read it instead of the file at path, and leave it open; or NULL */
    /* For a JPEG: returns the factor, 1, 2, 4 or 8, by which its sides are divided (rounded up), as
     * decoding fewer pixels is faster. NULL: full size. */
    int (*reduce)(void *user, size_t rows, size_t cols);
    void *user;
} image_read_options;

/* Opens an image; the caller ends it with image_close. The format is recognised by the file's first
 * bytes, not by its name. Rows and columns, and *info, are those of the upright image: the EXIF
 * orientation has been followed. CMYK becomes RGB. options NULL: no limit, and 1 or 3 channels of 8
 * bits. */
ssm2d_status image_open(const ssm2d_context *context, const char *path,
                        const image_read_options *options, image_reader **reader, image_info *info,
                        ssm2d_error *error);
/* Reads the next row: image_row_bytes. Past the last row this is an error. */
ssm2d_status image_read_row(image_reader *reader, void *row, ssm2d_error *error);
void image_close(image_reader *reader);
/* Decodes a whole image: opens it, calls `use` for each row unless it is NULL, and closes it. */
ssm2d_status image_read_rows(const ssm2d_context *context, const char *path,
                             const image_read_options *options, image_info *info,
                             void (*use)(void *user, const image_info *info, const uint8_t *row),
                             void *user, ssm2d_error *error);

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct image_writer image_writer;

/* The name of the format for a file name's extension; NULL if it cannot be written. */
const char *image_written_as(const char *path);
/* As image_endings, for the formats that can be written. */
const char *image_written_endings(char text[IMAGE_LIST]);

typedef struct image_write_options {
    const char *format; /* "PNG", or "JPEG" or "PDF", without alpha and 16 bits; NULL: PNG */
    int quality;        /* of a JPEG, from 1 to 100 */
    FILE *stream;       /* write to it instead of the file at path, and leave it open; or NULL */
} image_write_options;

/* Starts an image, which the caller ends with image_finish or image_abandon. options NULL: PNG. */
ssm2d_status image_create(const ssm2d_context *context, const char *path, const image_info *info,
                          const image_write_options *options, image_writer **writer,
                          ssm2d_error *error);
ssm2d_status image_write_row(image_writer *writer, const void *row, ssm2d_error *error);
/* Puts the complete file in place. Frees the writer, on failure too. */
ssm2d_status image_finish(image_writer *writer, ssm2d_error *error);
/* Frees the writer; no file appears. */
void image_abandon(image_writer *writer);

#endif
