#include "data/picture.h"

#include "io/image.h"

/* Reads all rows and closes the reader. */
static ssm2d_status read_rows(image_reader *reader, const image_info *info, const char *path,
                              resize *to, uint8_t *out, ssm2d_error *error)
{
    ssm2d_status status =
        resize_start(to, path, info->rows, info->cols, info->channels, out, error);
    for (size_t i = 0; i < info->rows && !status; i++) {
        status = image_read_row(reader, resize_row_buffer(to), error);
        if (!status) resize_row(to, resize_row_buffer(to));
    }
    image_close(reader);
    return status;
}

ssm2d_status picture_read(const ssm2d_context *context, const char *path, resize *to, uint8_t *out,
                          ssm2d_error *error)
{
    image_reader *reader;
    image_info info;
    ssm2d_status status = image_open(context, path, &reader, &info, error);
    return status ? status : read_rows(reader, &info, path, to, out, error);
}

ssm2d_status picture_read_regular(const ssm2d_context *context, const char *path, resize *to,
                                  uint8_t *out, ssm2d_error *error)
{
    image_reader *reader;
    image_info info;
    ssm2d_status status = image_open_regular(context, path, &reader, &info, error);
    return status ? status : read_rows(reader, &info, path, to, out, error);
}
