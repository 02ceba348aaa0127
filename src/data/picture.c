#include "data/picture.h"

#include "io/image.h"

static ssm2d_status read_picture(const ssm2d_context *context, const char *path,
                                 const image_read_options *options, resize *to, uint8_t *out,
                                 ssm2d_error *error)
{
    image_reader *reader;
    image_info info;
    ssm2d_status status = image_open_with(context, path, options, &reader, &info, error);
    if (status) return status;
    status = resize_start(to, path, info.rows, info.cols, info.channels, out, error);
    for (size_t i = 0; i < info.rows && !status; i++) {
        status = image_read_row(reader, resize_row_buffer(to), error);
        if (!status) resize_row(to, resize_row_buffer(to));
    }
    image_close(reader);
    return status;
}

ssm2d_status picture_read(const ssm2d_context *context, const char *path, size_t max_pixels,
                          resize *to, uint8_t *out, ssm2d_error *error)
{
    const image_read_options options = {.max_pixels = max_pixels};
    return read_picture(context, path, &options, to, out, error);
}

ssm2d_status picture_read_regular(const ssm2d_context *context, const char *path, size_t max_pixels,
                                  resize *to, uint8_t *out, ssm2d_error *error)
{
    const image_read_options options = {.max_pixels = max_pixels, .regular = 1};
    return read_picture(context, path, &options, to, out, error);
}
