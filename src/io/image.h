/* image - image files of several kinds, row by row. Of PNG and JPEG memory does not depend on the
 * height, unless they are interlaced, progressive or turned; others are held whole. */
#ifndef SSM2D_IO_IMAGE_H
#define SSM2D_IO_IMAGE_H

#include "io/file.h"

/* A row has cols * channels samples: bytes, or with depth 16 uint16_t. */
typedef struct image_info {
    size_t rows, cols;
    int channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha */
    int depth;    /* bits of a sample: 8 or 16; 0 is taken as 8 */
} image_info;

/* Return the number of colours, 1 or 3, and the bytes of a row. */
static inline int image_colours(const image_info *info) { return info->channels < 3 ? 1 : 3; }
static inline size_t image_row_bytes(const image_info *info)
{
    return info->cols * (size_t)info->channels * (info->depth == 16 ? 2 : 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The kinds that this build reads, as a list for messages, and the endings of their names: "PNG,
 * JPEG, BMP, WebP, TIFF" and "*.png, *.jpg, ..". */
const char *image_kinds(void);
const char *image_endings(void);
/* Whether a name has one of the endings, in small letters or capitals. */
int image_named(const char *name);

typedef struct image_reader image_reader;

#define IMAGE_MAX_PIXELS ((size_t)1 << 28) /* a limit that suits most */

typedef struct image_read_options {
    size_t max_pixels; /* refuse an image of more before decoding it; 0: no limit */
    int exact;         /* keep alpha and 16 bits; else alpha is blended over white, in 8 bits */
    int regular;       /* refuse what is neither a regular file nor a link to one, unopened */
    FILE *stream;      /* read it instead of the file at path, and leave it open; or NULL */
    /* Asked with the sides of a JPEG: returns 1, 2, 4 or 8, by which they are divided and rounded
     * up, as decoding less is faster. NULL: they stay as they are. */
    int (*reduce)(void *user, size_t rows, size_t cols);
    void *user;
} image_read_options;

/* Opens an image; the caller ends it with image_close. The format is recognised by the file's first
 * byte, not by its name. Rows and columns, and *info, are those of the upright image: the EXIF
 * orientation has been followed. CMYK becomes RGB. image_open has neither a limit nor other
 * options: 1 or 3 channels of 8 bits. */
ssm2d_status image_open(const ssm2d_context *context, const char *path, image_reader **reader,
                        image_info *info, ssm2d_error *error);
ssm2d_status image_open_with(const ssm2d_context *context, const char *path,
                             const image_read_options *options, image_reader **reader,
                             image_info *info, ssm2d_error *error);
/* Reads the next row: image_row_bytes. Past the last row this is an error. */
ssm2d_status image_read_row(image_reader *reader, void *row, ssm2d_error *error);
void image_close(image_reader *reader);

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct image_writer image_writer;

typedef struct image_write_options {
    int jpeg;     /* a JPEG instead of a PNG: 1 or 3 channels of 8 bits */
    int pdf;      /* a PDF of one page instead, likewise */
    int quality;  /* of a JPEG, from 1 to 100 */
    FILE *stream; /* write to it instead of the file at path, and leave it open; or NULL */
} image_write_options;

/* Starts an image, which the caller ends with image_finish or image_abandon. image_create writes a
 * PNG. */
ssm2d_status image_create(const ssm2d_context *context, const char *path, const image_info *info,
                          image_writer **writer, ssm2d_error *error);
ssm2d_status image_create_with(const ssm2d_context *context, const char *path,
                               const image_info *info, const image_write_options *options,
                               image_writer **writer, ssm2d_error *error);
ssm2d_status image_write_row(image_writer *writer, const void *row, ssm2d_error *error);
/* Puts the complete file in place. Frees the writer, on failure too. */
ssm2d_status image_finish(image_writer *writer, ssm2d_error *error);
/* Frees the writer; no file appears. */
void image_abandon(image_writer *writer);

#endif
