/* image_format - what image.c needs from a file format: one table of functions per format. */
#ifndef SSM2D_IO_IMAGE_FORMAT_H
#define SSM2D_IO_IMAGE_FORMAT_H

#include "io/image.h"

/* Limit in bytes for an image that must be held in memory whole to be decoded: an interlaced PNG or
 * a progressive JPEG. */
#define IMAGE_MAX_WHOLE ((size_t)1 << 30)
enum { IMAGE_MAX_COLS = 1 << 20 };

typedef struct image_format {
    int first_byte; /* which every file of this format starts with */
    /* Creates reader->decoder for reader->stream and fills in reader->info. close is called after a
     * failure as well. */
    ssm2d_status (*open)(image_reader *reader, ssm2d_error *error);
    ssm2d_status (*read_row)(image_reader *reader, uint8_t *row, ssm2d_error *error);
    void (*close)(image_reader *reader);
} image_format;

struct image_reader {
    const ssm2d_context *context;
    const image_format *format;
    FILE *stream;
    char *path;
    image_info info;
    size_t next; /* index of the next row */
    int broken;  /* a row could not be decoded: reading ends there */
    void *decoder;
};

extern const image_format image_png, image_jpeg;

#endif
