/* image_write_png - writing PNGs of 8 and 16 bits with libspng. */
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <errno.h>
#include <spng.h>
#include <string.h>

static int write_bytes(spng_ctx *png, void *user, void *bytes, size_t size)
{
    (void)png;
    image_writer *writer = user;
    errno = 0;
    if (!size || fwrite(bytes, 1, size, image_stream(writer)) == size) return 0;
    return SPNG_IO_ERROR;
}

static ssm2d_status fail_png(image_writer *writer, int code, ssm2d_error *error)
{
    if (code == SPNG_IO_ERROR)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be written: %s", text_path(writer->path),
                    strerror(errno));
    return fail(error, code == SPNG_EMEM ? SSM2D_ERROR_MEMORY : SSM2D_ERROR_SYSTEM,
                "%s: cannot be written as PNG: %s", text_path(writer->path), spng_strerror(code));
}

static ssm2d_status open_png(image_writer *writer, ssm2d_error *error)
{
    static const uint8_t types[] = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                    SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
    struct spng_ihdr header = {
        .width = (uint32_t)writer->info.cols,
        .height = (uint32_t)writer->info.rows,
        .bit_depth = writer->info.depth == 16 ? 16 : 8,
        .color_type = types[writer->info.channels - 1],
    };
    spng_ctx *png = writer->encoder = spng_ctx_new(SPNG_CTX_ENCODER);
    int code = png ? spng_set_png_stream(png, write_bytes, writer) : SPNG_EMEM;
    if (!code) code = spng_set_ihdr(png, &header);
    if (!code)
        code = spng_encode_image(png, NULL, 0, SPNG_FMT_PNG,
                                 SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE);
    return code ? fail_png(writer, code, error) : SSM2D_OK;
}

static ssm2d_status write_png_row(image_writer *writer, const void *row, int last,
                                  ssm2d_error *error)
{
    const int code = spng_encode_row(writer->encoder, row, image_row_bytes(&writer->info));
    return code == (last ? SPNG_EOI : 0) ? SSM2D_OK : fail_png(writer, code, error);
}

static void close_png(image_writer *writer) { spng_ctx_free(writer->encoder); }

const image_encoder encode_png = {open_png, write_png_row, close_png};
