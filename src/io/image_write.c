/* image_write - 8-bit PNGs, row by row, into a file that appears when it is complete. */
#include "core/context.h"
#include "core/status.h"
#include "io/image.h"
#include "io/text.h"

#include <spng.h>

struct image_writer {
    const ssm2d_context *context;
    atomic_file file;
    spng_ctx *png;
    image_info info;
    size_t next;      /* index of the next row */
    ssm2d_status bad; /* the first failure, and its message */
    ssm2d_error why;
};

static int write_bytes(spng_ctx *png, void *user, void *bytes, size_t size)
{
    (void)png;
    image_writer *writer = user;
    writer->bad = atomic_write(&writer->file, bytes, size, &writer->why);
    return writer->bad ? SPNG_IO_ERROR : 0;
}

static ssm2d_status fail_png(image_writer *writer, int code, ssm2d_error *error)
{
    if (!writer->bad)
        writer->bad = fail(
            &writer->why, code == SPNG_EMEM ? SSM2D_ERROR_MEMORY : SSM2D_ERROR_SYSTEM,
            "%s: cannot be written as PNG: %s", text_path(writer->file.path), spng_strerror(code));
    return fail(error, writer->bad, "%s", writer->why.line);
}

ssm2d_status image_create(const ssm2d_context *context, const char *path, const image_info *info,
                          image_writer **out, ssm2d_error *error)
{
    *out = NULL;
    if (!info->rows || !info->cols || info->rows > INT32_MAX || info->cols > INT32_MAX
        || (info->channels != 1 && info->channels != 3))
        return fail(
            error, SSM2D_ERROR_ARGUMENT,
            "%s: %zu x %zu pixels of %d channels: use 1 to %d rows and columns, 1 or 3 channels",
            text_path(path), info->rows, info->cols, info->channels, INT32_MAX);
    image_writer *writer = mem_alloc(context, sizeof *writer);
    if (!writer)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to write it", text_path(path));
    writer->context = context;
    writer->info = *info;
    ssm2d_status status = atomic_open(context, path, &writer->file, error);
    if (status) {
        mem_free(context, writer);
        return status;
    }
    struct spng_ihdr header = {
        .width = (uint32_t)info->cols,
        .height = (uint32_t)info->rows,
        .bit_depth = 8,
        .color_type = info->channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR,
    };
    writer->png = spng_ctx_new(SPNG_CTX_ENCODER);
    int code = writer->png ? spng_set_png_stream(writer->png, write_bytes, writer) : SPNG_EMEM;
    if (!code) code = spng_set_ihdr(writer->png, &header);
    if (!code)
        code = spng_encode_image(writer->png, NULL, 0, SPNG_FMT_PNG,
                                 SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE);
    if (code) {
        status = fail_png(writer, code, error);
        image_abandon(writer);
        return status;
    }
    *out = writer;
    return SSM2D_OK;
}

ssm2d_status image_write_row(image_writer *writer, const uint8_t *row, ssm2d_error *error)
{
    if (writer->bad) return fail_png(writer, 0, error);
    if (writer->next == writer->info.rows)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has all its %zu rows already",
                    text_path(writer->file.path), writer->info.rows);
    int last = ++writer->next == writer->info.rows;
    int code = spng_encode_row(writer->png, row, writer->info.cols * (size_t)writer->info.channels);
    return code == (last ? SPNG_EOI : 0) ? SSM2D_OK : fail_png(writer, code, error);
}

ssm2d_status image_finish(image_writer *writer, ssm2d_error *error)
{
    ssm2d_status status = writer->bad ? fail_png(writer, 0, error) : SSM2D_OK;
    if (!status && writer->next < writer->info.rows)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: only %zu of its %zu rows were written",
                      text_path(writer->file.path), writer->next, writer->info.rows);
    if (!status) status = atomic_commit(&writer->file, error);
    image_abandon(writer);
    return status;
}

void image_abandon(image_writer *writer)
{
    if (!writer) return;
    spng_ctx_free(writer->png);
    atomic_cancel(&writer->file);
    mem_free(writer->context, writer);
}
