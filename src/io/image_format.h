/* image_format - the interface of an image format: one table of functions for reading and writing,
 * in one file, listed in image_formats.def. */
#ifndef SSM2D_IO_IMAGE_FORMAT_H
#define SSM2D_IO_IMAGE_FORMAT_H

#include "io/image.h"

/* Limit in bytes for an image that must be held in memory whole to be decoded or encoded. */
#define IMAGE_MAX_WHOLE ((size_t)1 << 30)
#define IMAGE_MAX_FILE  ((size_t)1 << 29) /* in bytes, of a file that is read whole */
enum { IMAGE_MAX_COLS = 1 << 20 };
enum { IMAGE_HEAD = 12 };   /* bytes by which a format is recognised */
enum { IMAGE_MAGICS = 12 }; /* of a format, at most */

/* The first bytes of a file, up to IMAGE_HEAD of them; '?' stands for any byte. */
typedef struct image_magic {
    const char *bytes;
    size_t length;
} image_magic;

#define MAGIC(text) ((image_magic){text, sizeof text - 1}) /* text may contain zero bytes */

typedef struct image_format {
    const char *name;    /* for messages: "PNG" */
    const char *endings; /* of file names: "*.jpg, *.jpeg" */

    /* Reading. A file has this format if one of the magics matches its first bytes. open fills in
     * reader->info, and reader->orientation when rows are not stored upright; it finds
     * decoder_size zeroed bytes at reader->decoder, which close, called after a failure as well,
     * does not free. open is NULL when the build lacks the library that reads the format. */
    image_magic magic[IMAGE_MAGICS]; /* unused ones have length 0 */
    size_t decoder_size;
    ssm2d_status (*open)(image_reader *reader, ssm2d_error *error);
    ssm2d_status (*read_row)(image_reader *reader, void *row, ssm2d_error *error);
    void (*close)(image_reader *reader);
    const char *converter; /* without open: a program that converts such files, or NULL */

    /* Writing; create is NULL when the format is only read. create writes what comes before the
     * first row; it finds encoder_size zeroed bytes at writer->encoder, which destroy, called after
     * a failure as well, does not free. */
    size_t encoder_size;
    size_t max_side; /* rows and columns */
    int is_plain;    /* has neither alpha nor 16 bits */
    ssm2d_status (*create)(image_writer *writer, ssm2d_error *error);
    ssm2d_status (*write_row)(image_writer *writer, const void *row, int last, ssm2d_error *error);
    void (*destroy)(image_writer *writer);
} image_format;

#define FORMAT(name) extern const image_format image_##name;
#include "io/image_formats.def"
#undef FORMAT

/* ---- reading --------------------------------------------------------------------------------- */

struct image_reader {
    const ssm2d_context *context;
    const image_format *format;
    image_read_options options;
    FILE *stream;
    char *path;
    image_info info; /* as stored, before the orientation is applied */
    int orientation; /* EXIF's, 1 to 8; 0 is taken as 1 */
    uint8_t *whole;  /* all rows as stored, if the image has to be rotated or mirrored */
    size_t next;     /* index of the next row that is decoded */
    size_t given;    /* rows given to the caller */
    int broken;      /* a row could not be decoded: reading ends there */
    void *decoder;
    /* For formats that decode the whole image at once: RGBA of 8 bits, owned by the decoder, and
     * the bytes from row to row. read_row is not called. */
    const uint8_t *rgba;
    size_t rgba_stride;
};

/* Decodes the next row, as it is stored. */
ssm2d_status image_decode_row(image_reader *reader, void *row, ssm2d_error *error);
/* Converts one row of RGBA, of 8 bits or (deep) 16, to the format of reader->info and the
 * options. */
void image_row_from_rgba(const image_reader *reader, const void *rgba, int deep, void *row);
/* Reads the rest of reader->stream, for decoders that need a file in memory; the caller frees
 * *bytes with mem_free. Refuses more than IMAGE_MAX_FILE. */
ssm2d_status image_read_all(image_reader *reader, uint8_t **bytes, size_t *size,
                            ssm2d_error *error);
/* For `open`: refuses an image of more than options.max_pixels. */
ssm2d_status image_check_size(const image_reader *reader, size_t rows, size_t cols,
                              ssm2d_error *error);
/* Reports that a decoder is out of memory. */
ssm2d_status image_no_memory(const image_reader *reader, ssm2d_error *error);
/* Returns the orientation, 1 to 8, of an EXIF block, with or without "Exif\0\0" before it; 1, which
 * is upright, if it is missing or damaged. */
int exif_orientation(const uint8_t *bytes, size_t size);

/* The size of the upright image. */
image_info image_oriented_info(const image_reader *reader);
/* Refuses an image that is too large to be rotated or mirrored in memory. */
ssm2d_status image_orient_check(const image_reader *reader, ssm2d_error *error);
/* As image_read_row, for an orientation other than 1. */
ssm2d_status image_oriented_row(image_reader *reader, void *row, ssm2d_error *error);

/* ---- writing --------------------------------------------------------------------------------- */

struct image_writer {
    const ssm2d_context *context;
    const image_format *format;
    image_write_options options;
    atomic_file file; /* unless there is options.stream */
    char *path;       /* for messages */
    image_info info;
    size_t next; /* index of the next row */
    void *encoder;
    ssm2d_status bad; /* the first failure, and its message */
    ssm2d_error why;
};

FILE *image_stream(image_writer *writer);
/* Reports that writing to the stream failed, with the text of errno. */
ssm2d_status image_write_failed(const image_writer *writer, ssm2d_error *error);
/* The format of that name, or NULL. */
const image_format *image_format_named(const char *name);

#endif
