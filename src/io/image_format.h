/* image_format - what image.c and image_write.c need from a file format: one table of functions
 * per format for reading, one for writing. */
#ifndef SSM2D_IO_IMAGE_FORMAT_H
#define SSM2D_IO_IMAGE_FORMAT_H

#include "io/image.h"

/* Limit in bytes for an image that must be held in memory whole to be decoded: an interlaced PNG or
 * a progressive JPEG. */
#define IMAGE_MAX_WHOLE ((size_t)1 << 30)
#define IMAGE_MAX_FILE  ((size_t)1 << 29) /* in bytes, of a file that is read whole */
enum { IMAGE_MAX_COLS = 1 << 20 };

typedef struct image_format {
    const char *name;
    const char *first_bytes; /* every file of this format starts with one of them */
    /* Creates reader->decoder for reader->stream and fills in reader->info, and
     * reader->orientation when rows are not stored upright. close is called after a failure as
     * well. NULL: this build has not the library that reads the format. */
    ssm2d_status (*open)(image_reader *reader, ssm2d_error *error);
    ssm2d_status (*read_row)(image_reader *reader, void *row, ssm2d_error *error);
    void (*close)(image_reader *reader);
} image_format;

struct image_reader {
    const ssm2d_context *context;
    const image_format *format;
    image_read_options options;
    FILE *stream;
    char *path;
    image_info info; /* as it is stored, not turned */
    int orientation; /* EXIF's, 1 to 8; 0 is taken as 1 */
    uint8_t *whole;  /* all rows as they are stored, when they have to be turned */
    size_t next;     /* index of the next row that is decoded */
    size_t given;    /* rows given to the caller */
    int broken;      /* a row could not be decoded: reading ends there */
    void *decoder;
};

extern const image_format image_png, image_jpeg, image_bmp, image_webp, image_tiff;

/* ---- for decoders ---------------------------------------------------------------------------- */

/* Writes one row as reader->info and the options want it, from RGBA of 8 or, deep, 16 bits. */
void image_row_from_rgba(const image_reader *reader, const void *rgba, int deep, void *row);
/* Reads the rest of reader->stream, for decoders that need a file in memory; the caller frees
 * *bytes with mem_free. Refuses more than IMAGE_MAX_FILE. */
ssm2d_status image_read_all(image_reader *reader, uint8_t **bytes, size_t *size,
                            ssm2d_error *error);

/* ---- turning --------------------------------------------------------------------------------- */

/* What the caller is told: info, turned as the orientation says. */
image_info image_oriented_info(const image_reader *reader);
/* Refuses an image that has to be held whole to be turned, and is too large for that. */
ssm2d_status image_turn_check(const image_reader *reader, ssm2d_error *error);
/* As image_read_row, for an orientation other than 1. */
ssm2d_status image_oriented_row(image_reader *reader, void *row, ssm2d_error *error);

/* ---- checks and writing ---------------------------------------------------------------------- */

/* For open, when the sides are known: refuses more than options.max_pixels. */
ssm2d_status image_check_size(const image_reader *reader, size_t rows, size_t cols,
                              ssm2d_error *error);

typedef struct image_encoder {
    /* Creates writer->encoder and writes what comes before the first row. close is called after a
     * failure as well. */
    ssm2d_status (*open)(image_writer *writer, ssm2d_error *error);
    ssm2d_status (*write_row)(image_writer *writer, const void *row, int last, ssm2d_error *error);
    void (*close)(image_writer *writer);
} image_encoder;

struct image_writer {
    const ssm2d_context *context;
    const image_encoder *format;
    image_write_options options;
    atomic_file file; /* unless there is options.stream */
    char *path;       /* for messages */
    image_info info;
    size_t next; /* index of the next row */
    void *encoder;
    ssm2d_status bad; /* the first failure, and its message */
    ssm2d_error why;
};

extern const image_encoder encode_png, encode_jpeg, encode_pdf;

FILE *image_stream(image_writer *writer);

#endif
