#include "data/picture.h"

/* The size in the file's header, and the factor by which decoding reduces it. */
typedef struct reducing {
    const resize *to;
    size_t rows, cols;
    int by;
} reducing;

static int reduce(void *user, size_t rows, size_t cols)
{
    reducing *r = user;
    r->rows = rows;
    r->cols = cols;
    return r->by = resize_reduction(r->to, rows, cols);
}

ssm2d_status picture_read(const ssm2d_context *context, const char *path,
                          const image_read_options *options, resize *to, uint8_t *out,
                          ssm2d_error *error)
{
    image_reader *reader;
    image_info info;
    reducing r = {to, 0, 0, 1};
    image_read_options reducible = *options;
    reducible.reduce = reduce;
    reducible.user = &r;
    ssm2d_status status = image_open(context, path, &reducible, &reader, &info, error);
    if (status) return status;
    status = r.by > 1
                 ? resize_start_reduced(to, path, r.rows, r.cols, info.channels, r.by, out, error)
                 : resize_start(to, path, info.rows, info.cols, info.channels, out, error);
    /* rows below the region are not decoded */
    for (size_t i = 0; i < info.rows && !status && !resize_is_complete(to); i++) {
        status = image_read_row(reader, resize_row_buffer(to), error);
        if (!status) resize_row(to, resize_row_buffer(to));
    }
    image_close(reader);
    return status;
}
