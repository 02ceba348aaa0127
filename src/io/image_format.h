/* image_format - what image.c needs from a file format: a table line per format. */
#ifndef SSM2D_IO_IMAGE_FORMAT_H
#define SSM2D_IO_IMAGE_FORMAT_H

#include "io/image.h"

/* Of an image that has to be held whole to be decoded (interlaced, progressive); and of one row's
 * pixels. */
#define IMAGE_WHOLE_MOST ((size_t)1 << 30)
enum { IMAGE_COLS_MOST = 1 << 20 };

typedef struct image_format {
    int first_byte; /* of every such file */
    /* Opens reader->decoder on reader->stream and fills in reader->info. On failure close is called
     * as well. */
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
    size_t next; /* the row that comes next */
    int broken;  /* a row failed: there are no more */
    void *decoder;
};

extern const image_format image_png, image_jpeg;

#endif
