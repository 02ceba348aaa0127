/* image_webp - reads WebP with libwebp, which needs the whole file in memory and decodes it at
 * once. Its own memory comes from malloc. */
#include "io/image_format.h"

#ifdef SSM2D_WEBP
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"

#include <string.h>
#include <webp/decode.h>

typedef struct decoder {
    uint8_t *file, *rgba;
} decoder;

/* The file is "RIFF", a size, "WEBP", and chunks: a name, a size, and bytes padded to an even
 * number. */
static void find_orientation(image_reader *reader, const uint8_t *bytes, size_t size)
{
    for (size_t at = 12; at + 8 <= size;) {
        const size_t length = (size_t)bytes[at + 4] | (size_t)bytes[at + 5] << 8
                              | (size_t)bytes[at + 6] << 16 | (size_t)bytes[at + 7] << 24;
        if (length > size - at - 8) return;
        if (!memcmp(bytes + at, "EXIF", 4))
            reader->orientation = exif_orientation(bytes + at + 8, length);
        at += 8 + length + length % 2;
    }
}

static ssm2d_status damaged(const image_reader *reader, VP8StatusCode code, ssm2d_error *error)
{
    if (code == VP8_STATUS_OUT_OF_MEMORY) return image_no_memory(reader, error);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged WebP: %s", text_path(reader->path),
                code == VP8_STATUS_NOT_ENOUGH_DATA       ? "the file ends early"
                : code == VP8_STATUS_UNSUPPORTED_FEATURE ? "it uses an unsupported feature"
                                                         : "it cannot be decoded");
}

static ssm2d_status open_webp(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    size_t size;
    ssm2d_status status = image_read_all(reader, &d->file, &size, error);
    if (status) return status;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: the version of libwebp differs from the one that ssm2d was built with",
                    text_path(reader->path));
    VP8StatusCode code = WebPGetFeatures(d->file, size, &config.input);
    if (code) return damaged(reader, code, error);
    const size_t rows = (size_t)config.input.height, cols = (size_t)config.input.width;
    if ((status = image_check_size(reader, rows, cols, error))) return status;
    if (config.input.has_animation)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: is an animated WebP: save one picture of it", text_path(reader->path));
    if (!(d->rgba = mem_alloc(reader->context, rows * cols * 4)))
        return fail_memory(error, "%s: %zu x %zu pixels", text_path(reader->path), rows, cols);
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = d->rgba;
    config.output.u.RGBA.stride = (int)cols * 4;
    config.output.u.RGBA.size = rows * cols * 4;
    code = WebPDecode(d->file, size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code) return damaged(reader, code, error);
    find_orientation(reader, d->file, size);
    mem_free(reader->context, d->file);
    d->file = NULL;
    reader->rgba = d->rgba;
    reader->rgba_stride = cols * 4;
    reader->info = (image_info){rows, cols, 3, 8};
    if (reader->options.exact && config.input.has_alpha) reader->info.channels = 4;
    return SSM2D_OK;
}

static void close_webp(image_reader *reader)
{
    decoder *d = reader->decoder;
    mem_free(reader->context, d->file);
    mem_free(reader->context, d->rgba);
}

#endif

const image_format image_webp = {
    .name = "WebP",
    .endings = "*.webp",
    .magic = {MAGIC("RIFF????WEBP")},
    .converter = "convert FILE FILE.png (ImageMagick)",
#ifdef SSM2D_WEBP
    .decoder_size = sizeof(decoder),
    .open = open_webp,
    .close = close_webp,
#endif
};
