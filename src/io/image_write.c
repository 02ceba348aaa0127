/* image_write - writes images row by row, to a stream or to a file that appears once complete. */
#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <string.h>

FILE *image_stream(image_writer *writer)
{
    return writer->options.stream ? writer->options.stream : writer->file.stream;
}

ssm2d_status image_write_failed(const image_writer *writer, ssm2d_error *error)
{
    return fail_errno(error, writer->path, "cannot be written");
}

static ssm2d_status check_info(const char *path, const image_info *info, const image_format *format,
                               ssm2d_error *error)
{
    const size_t side = format->max_side;
    if (!info->rows || !info->cols || info->rows > side || info->cols > side || info->channels < 1
        || info->channels > 4)
        return fail(
            error, SSM2D_ERROR_ARGUMENT,
            "%s: %zu x %zu pixels of %d channels: use 1 to %zu rows and columns, 1 to 4 channels",
            text_path(path), info->rows, info->cols, info->channels, side);
    if (info->depth && info->depth != 8 && info->depth != 16)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: samples of %d bits: use 8 or 16",
                    text_path(path), info->depth);
    if (format->is_plain && (info->depth == 16 || info->channels % 2 == 0))
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: a %s has neither alpha nor 16 bits: write a PNG", text_path(path),
                    format->name);
    return SSM2D_OK;
}

ssm2d_status image_create(const ssm2d_context *context, const char *path, const image_info *info,
                          const image_write_options *options, image_writer **out,
                          ssm2d_error *error)
{
    *out = NULL;
    const char *name = options && options->format ? options->format : "PNG";
    const image_format *format = image_format_named(name);
    if (!format || !format->create)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s: %s images cannot be written",
                    text_path(path), name);
    ssm2d_status status = check_info(path, info, format, error);
    if (status) return status;
    image_writer *writer = mem_alloc(context, sizeof *writer + strlen(path) + 1);
    if (!writer) return fail_memory(error, "writing %s", text_path(path));
    writer->context = context;
    writer->info = *info;
    if (options) writer->options = *options;
    writer->format = format;
    writer->path = strcpy((char *)(writer + 1), path);
    writer->encoder = mem_alloc(context, format->encoder_size);
    if (!writer->encoder) status = fail_memory(error, "writing %s", text_path(path));
    if (!status && !writer->options.stream)
        status = atomic_open(context, path, &writer->file, error);
    if (!status) status = format->create(writer, error);
    if (status)
        image_abandon(writer);
    else
        *out = writer;
    return status;
}

/* Returns the first failure again: every later call fails in the same way. */
static ssm2d_status fail_again(image_writer *writer, ssm2d_error *error)
{
    return fail(error, writer->bad, "%s", writer->why.line);
}

ssm2d_status image_write_row(image_writer *writer, const void *row, ssm2d_error *error)
{
    if (writer->bad) return fail_again(writer, error);
    if (writer->next == writer->info.rows)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has all its %zu rows already",
                    text_path(writer->path), writer->info.rows);
    const int last = ++writer->next == writer->info.rows;
    writer->bad = writer->format->write_row(writer, row, last, &writer->why);
    return writer->bad ? fail_again(writer, error) : SSM2D_OK;
}

ssm2d_status image_finish(image_writer *writer, ssm2d_error *error)
{
    ssm2d_status status = writer->bad ? fail_again(writer, error) : SSM2D_OK;
    if (!status && writer->next < writer->info.rows)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: only %zu of its %zu rows were written",
                      text_path(writer->path), writer->next, writer->info.rows);
    if (!status && writer->options.stream && fflush(writer->options.stream))
        status = image_write_failed(writer, error);
    if (!status && !writer->options.stream) status = atomic_commit(&writer->file, error);
    image_abandon(writer);
    return status;
}

void image_abandon(image_writer *writer)
{
    if (!writer) return;
    if (writer->encoder) writer->format->destroy(writer);
    mem_free(writer->context, writer->encoder);
    atomic_cancel(&writer->file);
    mem_free(writer->context, writer);
}
