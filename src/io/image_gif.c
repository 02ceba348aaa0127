/* image_gif - reads the first frame of a GIF with giflib, whose own memory comes from malloc.
 *
 * The image has the size of the file's logical screen; pixels outside of the first frame, and those
 * of its transparent colour, are transparent. */
#include "io/image_format.h"

#ifdef SSM2D_GIF
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"

#include <gif_lib.h>
#include <string.h>

typedef struct decoder {
    GifFileType *gif;
    GifColorType palette[256];
    int transparent; /* the index of that colour, or -1 */
    GifImageDesc frame;
    uint8_t *pixels; /* indices of the frame, top to bottom */
    uint8_t *rgba;   /* one row */
} decoder;

static int read_bytes(GifFileType *gif, GifByteType *bytes, int size)
{
    const image_reader *reader = gif->UserData;
    return (int)fread(bytes, 1, (size_t)size, reader->stream);
}

static ssm2d_status damaged(const image_reader *reader, int code, ssm2d_error *error)
{
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM) return image_no_memory(reader, error);
    const char *why = GifErrorString(code);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged GIF: %s", text_path(reader->path),
                code == D_GIF_ERR_EOF_TOO_SOON || code == D_GIF_ERR_READ_FAILED
                    ? "the file ends early"
                : why ? why
                      : "it cannot be decoded");
}

/* Reads an extension; a graphics control extension sets the transparent colour of the next
 * frame. */
static int read_extension(decoder *d)
{
    GifByteType *bytes;
    GraphicsControlBlock control;
    int code, good = DGifGetExtension(d->gif, &code, &bytes) == GIF_OK;
    while (good && bytes) {
        if (code == GRAPHICS_EXT_FUNC_CODE && bytes[0] == 4
            && DGifExtensionToGCB(4, bytes + 1, &control) == GIF_OK)
            d->transparent = control.TransparentColor;
        good = DGifGetExtensionNext(d->gif, &bytes) == GIF_OK;
    }
    return good;
}

/* Reads up to the descriptor of the first frame. */
static ssm2d_status find_picture(image_reader *reader, decoder *d, ssm2d_error *error)
{
    GifRecordType type;
    for (;;) {
        if (DGifGetRecordType(d->gif, &type) != GIF_OK) break;
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(d->gif) == GIF_OK ? SSM2D_OK
                                                      : damaged(reader, d->gif->Error, error);
        if (type == TERMINATE_RECORD_TYPE)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a GIF without an image",
                        text_path(reader->path));
        if (type == EXTENSION_RECORD_TYPE && !read_extension(d)) break;
    }
    return damaged(reader, d->gif->Error, error);
}

/* The image row of stored row r: an interlaced frame has every eighth row first. */
static size_t row_of(const GifImageDesc *frame, size_t r)
{
    static const size_t first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    const size_t rows = (size_t)frame->Height;
    if (!frame->Interlace) return r;
    for (int pass = 0; pass < 4; pass++) {
        const size_t count = rows > first[pass] ? (rows - first[pass] - 1) / step[pass] + 1 : 0;
        if (r < count) return first[pass] + r * step[pass];
        r -= count;
    }
    return 0;
}

static ssm2d_status read_pixels(image_reader *reader, decoder *d, ssm2d_error *error)
{
    const size_t rows = (size_t)d->frame.Height, cols = (size_t)d->frame.Width;
    if (!(d->pixels = mem_alloc(reader->context, rows * cols)))
        return fail_memory(error, "%s: %zu x %zu pixels", text_path(reader->path), rows, cols);
    for (size_t r = 0; r < rows; r++)
        if (DGifGetLine(d->gif, d->pixels + row_of(&d->frame, r) * cols, (int)cols) != GIF_OK)
            return damaged(reader, d->gif->Error, error);
    return SSM2D_OK;
}

static ssm2d_status open_gif(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    int code = 0;
    d->transparent = -1;
    if (!(d->gif = DGifOpen(reader, read_bytes, &code))) return damaged(reader, code, error);
    ssm2d_status status = find_picture(reader, d, error);
    if (status) return status;
    d->frame = d->gif->Image;
    const size_t rows = (size_t)d->gif->SHeight, cols = (size_t)d->gif->SWidth;
    const size_t frame = (size_t)d->frame.Height * (size_t)d->frame.Width;
    const ColorMapObject *map = d->frame.ColorMap ? d->frame.ColorMap : d->gif->SColorMap;
    if (!rows || !cols || !frame || !map || map->ColorCount > 256)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged GIF: it has no %s",
                    text_path(reader->path), rows && cols && frame ? "colours" : "pixels");
    if ((status = image_check_size(reader, rows, cols, error))) return status;
    if (frame > IMAGE_MAX_WHOLE)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: has %d x %d pixels, too many for a GIF: save it as PNG",
                    text_path(reader->path), d->frame.Height, d->frame.Width);
    memcpy(d->palette, map->Colors, (size_t)map->ColorCount * sizeof *d->palette);
    if ((status = read_pixels(reader, d, error))) return status;
    if (!(d->rgba = mem_alloc(reader->context, cols * 4)))
        return fail_memory(error, "%s: %zu columns", text_path(reader->path), cols);
    const int covered = !d->frame.Top && !d->frame.Left && (size_t)d->frame.Height >= rows
                        && (size_t)d->frame.Width >= cols;
    reader->info = (image_info){rows, cols, 3, 8};
    if (reader->options.exact && (d->transparent >= 0 || !covered)) reader->info.channels = 4;
    return SSM2D_OK;
}

static ssm2d_status read_gif_row(image_reader *reader, void *row, ssm2d_error *error)
{
    const decoder *d = reader->decoder;
    const size_t top = (size_t)d->frame.Top, left = (size_t)d->frame.Left;
    const size_t height = (size_t)d->frame.Height, width = (size_t)d->frame.Width;
    const size_t cols = reader->info.cols;
    (void)error;
    memset(d->rgba, 0, cols * 4);
    if (reader->next >= top && reader->next - top < height) {
        const uint8_t *from = d->pixels + (reader->next - top) * width;
        for (size_t i = 0; i < width && left + i < cols; i++) {
            const GifColorType *colour = &d->palette[from[i]];
            uint8_t *to = d->rgba + (left + i) * 4;
            if (from[i] == d->transparent) continue;
            to[0] = colour->Red, to[1] = colour->Green, to[2] = colour->Blue, to[3] = 255;
        }
    }
    image_row_from_rgba(reader, d->rgba, 0, row);
    return SSM2D_OK;
}

static void close_gif(image_reader *reader)
{
    decoder *d = reader->decoder;
    if (d->gif) DGifCloseFile(d->gif, NULL);
    mem_free(reader->context, d->pixels);
    mem_free(reader->context, d->rgba);
}

#endif

const image_format image_gif = {
    .name = "GIF",
    .endings = "*.gif",
    .magic = {MAGIC("GIF8")},
    .converter = "convert FILE FILE.png (ImageMagick)",
#ifdef SSM2D_GIF
    .decoder_size = sizeof(decoder),
    .open = open_gif,
    .read_row = read_gif_row,
    .close = close_gif,
#endif
};
