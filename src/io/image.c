#include "io/image.h"

#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <string.h>

static const image_format *const formats[] = {&image_png, &image_jpeg};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Chooses reader->format by the first byte: it tells the formats apart, and a single byte can be
 * put back even into a pipe. The decoder checks the rest. */
static ssm2d_status choose_format(image_reader *reader, ssm2d_error *error)
{
    int first = getc(reader->stream);
    if (first == EOF)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s", text_path(reader->path),
                    ferror(reader->stream) ? "cannot be read"
                                           : "is empty: give a PNG or JPEG image");
    ungetc(first, reader->stream);
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->first_byte == first) reader->format = formats[i];
    if (!reader->format)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s: is neither a PNG nor a JPEG image",
                    text_path(reader->path));
    return SSM2D_OK;
}

ssm2d_status image_check_size(const image_reader *reader, size_t rows, size_t cols,
                              ssm2d_error *error)
{
    const size_t max = reader->options.max_pixels;
    if (!max || !rows || cols <= max / rows) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "%s: has %zu x %zu pixels, more than the %zu that max-pixels allows",
                text_path(reader->path), rows, cols, max);
}

ssm2d_status image_open(const ssm2d_context *context, const char *path, image_reader **out,
                        image_info *info, ssm2d_error *error)
{
    return image_open_with(context, path, &(image_read_options){0}, out, info, error);
}

ssm2d_status image_open_with(const ssm2d_context *context, const char *path,
                             const image_read_options *options, image_reader **out,
                             image_info *info, ssm2d_error *error)
{
    *out = NULL;
    image_reader *reader = mem_alloc(context, sizeof *reader);
    if (!reader)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to read it", text_path(path));
    reader->context = context;
    reader->options = *options;
    reader->path = mem_alloc(context, strlen(path) + 1);
    ssm2d_status status =
        reader->path ? SSM2D_OK
                     : fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to read it", text_path(path));
    if (!status) {
        strcpy(reader->path, path);
        if (options->stream)
            reader->stream = options->stream;
        else
            status =
                (options->regular ? file_open_regular : file_open)(path, &reader->stream, error);
    }
    if (!status) status = choose_format(reader, error);
    if (!status) status = reader->format->open(reader, error);
    if (status) {
        image_close(reader);
        return status;
    }
    *info = reader->info;
    *out = reader;
    return SSM2D_OK;
}

ssm2d_status image_read_row(image_reader *reader, void *row, ssm2d_error *error)
{
    if (reader->next >= reader->info.rows)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no more than %zu rows",
                    text_path(reader->path), reader->info.rows);
    if (reader->broken)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: cannot be read beyond row %zu",
                    text_path(reader->path), reader->next);
    ssm2d_status status = reader->format->read_row(reader, row, error);
    if (status)
        reader->broken = 1;
    else
        reader->next++;
    return status;
}

void image_close(image_reader *reader)
{
    if (!reader) return;
    const ssm2d_context *context = reader->context;
    if (reader->decoder) reader->format->close(reader);
    if (reader->stream && !reader->options.stream) fclose(reader->stream);
    mem_free(context, reader->path);
    mem_free(context, reader);
}
