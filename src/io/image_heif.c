/* image_heif - reads HEIC, the format of phone photos, and AVIF with libheif, which needs the whole
 * file in memory and decodes it at once. Its own memory comes from malloc. It applies the
 * orientation itself. */
#include "io/image_format.h"

#ifdef SSM2D_HEIF
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"

#include <libheif/heif.h>
#include <string.h>

typedef struct decoder {
    uint8_t *file;
    struct heif_context *heif;
    struct heif_image_handle *handle;
    struct heif_image *image;
} decoder;

static ssm2d_status damaged(const image_reader *reader, struct heif_error why, ssm2d_error *error)
{
    char text[120];
    if (why.code == heif_error_Memory_allocation_error) return image_no_memory(reader, error);
    text_show(why.message, strlen(why.message), text, sizeof text);
    if (why.code == heif_error_Unsupported_feature || why.code == heif_error_Unsupported_filetype)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: is a HEIC/AVIF that the libheif here cannot decode (%s): save it as "
                    "JPEG",
                    text_path(reader->path), text);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged HEIC/AVIF: %s",
                text_path(reader->path), text);
}

static ssm2d_status decode(image_reader *reader, decoder *d, size_t size, ssm2d_error *error)
{
    struct heif_error bad =
        heif_context_read_from_memory_without_copy(d->heif, d->file, size, NULL);
    if (!bad.code) bad = heif_context_get_primary_image_handle(d->heif, &d->handle);
    if (bad.code) return damaged(reader, bad, error);
    const int rows = heif_image_handle_get_height(d->handle);
    const int cols = heif_image_handle_get_width(d->handle);
    if (rows < 1 || cols < 1)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged HEIC/AVIF: it has no pixels",
                    text_path(reader->path));
    const ssm2d_status status = image_check_size(reader, (size_t)rows, (size_t)cols, error);
    if (status) return status;
    if ((size_t)rows * (size_t)cols > IMAGE_MAX_WHOLE / 4)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: has %d x %d pixels, too many for a HEIC/AVIF: save it as JPEG",
                    text_path(reader->path), rows, cols);
    bad = heif_decode_image(d->handle, &d->image, heif_colorspace_RGB, heif_chroma_interleaved_RGBA,
                            NULL);
    if (bad.code) return damaged(reader, bad, error);
    int stride = 0;
    reader->rgba = heif_image_get_plane_readonly(d->image, heif_channel_interleaved, &stride);
    reader->rgba_stride = (size_t)stride;
    /* the decoded image may differ in size from the header */
    const int height = heif_image_get_height(d->image, heif_channel_interleaved);
    const int width = heif_image_get_width(d->image, heif_channel_interleaved);
    if (!reader->rgba || height != rows || width != cols)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: is a damaged HEIC/AVIF: its size differs from its header",
                    text_path(reader->path));
    reader->info = (image_info){(size_t)rows, (size_t)cols, 3, 8};
    if (reader->options.exact && heif_image_handle_has_alpha_channel(d->handle))
        reader->info.channels = 4;
    return SSM2D_OK;
}

static ssm2d_status open_heif(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    size_t size;
    ssm2d_status status = image_read_all(reader, &d->file, &size, error);
    if (status) return status;
    if (!(d->heif = heif_context_alloc())) return image_no_memory(reader, error);
    heif_context_set_max_decoding_threads(d->heif, 0); /* several images are read at once */
    return decode(reader, d, size, error);
}

static void close_heif(image_reader *reader)
{
    decoder *d = reader->decoder;
    if (d->image) heif_image_release(d->image);
    if (d->handle) heif_image_handle_release(d->handle);
    if (d->heif) heif_context_free(d->heif);
    mem_free(reader->context, d->file);
}

#endif

/* A file begins with a box: its size, the type ftyp, and the brand. Video files have the same box
 * with other brands. */
#define BRAND(name) MAGIC("\0\0??ftyp" name)

const image_format image_heif = {
    .name = "HEIC/AVIF",
    .endings = "*.heic, *.heif, *.avif",
    .magic = {BRAND("heic"), BRAND("heix"), BRAND("heim"), BRAND("heis"), BRAND("hevc"),
              BRAND("hevx"), BRAND("mif1"), BRAND("msf1"), BRAND("avif"), BRAND("avis")},
    .converter = "heif-convert FILE FILE.jpg (Debian's package libheif-examples)",
#ifdef SSM2D_HEIF
    .decoder_size = sizeof(decoder),
    .open = open_heif,
    .close = close_heif,
#endif
};
