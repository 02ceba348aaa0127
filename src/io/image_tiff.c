/* image_tiff - reads the first image of a TIFF with libtiff. The file is held in memory, so that
 * pipes can be read as well. The image is decoded at once to RGBA of 8 bits, or row by row when 16
 * bits are kept and the layout allows it. */
#include "io/image_format.h"

#ifdef SSM2D_TIFF
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"

#include <string.h>
#include <tiffio.h>

typedef struct decoder {
    TIFF *tiff;
    uint8_t *file;
    size_t size, at;
    uint8_t *rgba;     /* the whole image; NULL: rows are read one by one */
    int white_is_zero; /* in such rows */
    char message[160]; /* libtiff's first error */
    char missing[160]; /* its first warning that rows are missing */
} decoder;

/* ---- libtiff reads from memory --------------------------------------------------------------- */

static tmsize_t read_bytes(thandle_t user, void *out, tmsize_t size)
{
    decoder *d = user;
    const size_t left = d->at < d->size ? d->size - d->at : 0;
    const size_t count = size < 0 ? 0 : (size_t)size < left ? (size_t)size : left;
    memcpy(out, d->file + d->at, count);
    d->at += count;
    return (tmsize_t)count;
}

static tmsize_t write_bytes(thandle_t user, void *bytes, tmsize_t size)
{
    (void)user, (void)bytes, (void)size;
    return 0;
}

static toff_t seek(thandle_t user, toff_t offset, int from)
{
    decoder *d = user;
    const size_t base = from == SEEK_CUR ? d->at : from == SEEK_END ? d->size : 0;
    d->at = base + (size_t)offset;
    if (d->at > d->size) d->at = d->size; /* reads return nothing there */
    return d->at;
}

static int close_nothing(thandle_t user)
{
    (void)user;
    return 0;
}

static toff_t size_of(thandle_t user) { return ((decoder *)user)->size; }

static int keep_message(TIFF *tiff, void *user, const char *module, const char *format, va_list ap)
{
    decoder *d = user;
    (void)tiff, (void)module;
    if (!d->message[0]) vsnprintf(d->message, sizeof d->message, format, ap);
    return 1;
}

/* libtiff warns about most things that it recovers from, such as unknown tags. But when rows are
 * missing it leaves the previous memory in their place: such a file counts as damaged. */
static int keep_missing_rows(TIFF *tiff, void *user, const char *module, const char *format,
                             va_list ap)
{
    decoder *d = user;
    char text[sizeof d->missing];
    (void)tiff;
    vsnprintf(text, sizeof text, format, ap);
    const int missing = strstr(text, "Improper JPEG strip/tile size")
                        || strstr(text, "\"StripByteCounts\" field, ignoring")
                        || (module && !strcmp(module, "Fax4Decode") && strstr(text, "Premature"));
    if (missing && !d->missing[0]) memcpy(d->missing, text, sizeof text);
    return 1;
}

static ssm2d_status damaged(const image_reader *reader, const char *why, ssm2d_error *error)
{
    const decoder *d = reader->decoder;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged or unusual TIFF: %s",
                text_path(reader->path), d->message[0] ? d->message : why);
}

static ssm2d_status open_file(image_reader *reader, decoder *d, ssm2d_error *error)
{
    ssm2d_status status = image_read_all(reader, &d->file, &d->size, error);
    if (status) return status;
    TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
    if (!o) return image_no_memory(reader, error);
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, (tmsize_t)IMAGE_MAX_WHOLE);
    TIFFOpenOptionsSetErrorHandlerExtR(o, keep_message, d);
    TIFFOpenOptionsSetWarningHandlerExtR(o, keep_missing_rows, d);
    d->tiff = TIFFClientOpenExt("image", "rm", d, read_bytes, write_bytes, seek, close_nothing,
                                size_of, NULL, NULL, o);
    TIFFOpenOptionsFree(o);
    return d->tiff ? SSM2D_OK : damaged(reader, "it has no directory", error);
}

/* ---- rows that are missing ------------------------------------------------------------------- */

static ssm2d_status check_missing(const image_reader *reader, ssm2d_error *error)
{
    const decoder *d = reader->decoder;
    if (!d->missing[0]) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: is a damaged TIFF: it has fewer rows than the %zu of its header: %s",
                text_path(reader->path), reader->info.rows, d->missing);
}

/* Notes strips that are shorter than their rows: libtiff reads uncompressed strips in full length,
 * whatever their byte count says. */
static void check_strips(decoder *d)
{
    uint16_t compression = COMPRESSION_NONE;
    TIFFGetFieldDefaulted(d->tiff, TIFFTAG_COMPRESSION, &compression);
    if (compression != COMPRESSION_NONE) return;
    const int tiled = TIFFIsTiled(d->tiff);
    const uint32_t count = tiled ? TIFFNumberOfTiles(d->tiff) : TIFFNumberOfStrips(d->tiff);
    uint32_t rows = 0, per_strip = 0;
    TIFFGetField(d->tiff, TIFFTAG_IMAGELENGTH, &rows);
    TIFFGetFieldDefaulted(d->tiff, TIFFTAG_ROWSPERSTRIP, &per_strip);
    const uint32_t in_plane = per_strip && per_strip < rows ? (rows - 1) / per_strip + 1 : 1;
    for (uint32_t i = 0; i < count && !d->missing[0]; i++) {
        const uint32_t first = i % in_plane * per_strip;
        const uint32_t height =
            in_plane == 1 || rows - first < per_strip ? rows - first : per_strip;
        const tmsize_t whole = tiled ? TIFFTileSize(d->tiff) : TIFFVStripSize(d->tiff, height);
        const uint64_t bytes = TIFFGetStrileByteCount(d->tiff, i);
        if (whole > 0 && bytes < (uint64_t)whole)
            snprintf(d->missing, sizeof d->missing, "%s %u has %llu bytes of %lld",
                     tiled ? "tile" : "strip", i, (unsigned long long)bytes, (long long)whole);
    }
}

/* ---- 8 bits ---------------------------------------------------------------------------------- */

/* Divides colours by alpha, because libtiff has multiplied them. */
static void unpremultiply(uint8_t *rgba, size_t pixels)
{
    for (; pixels; pixels--, rgba += 4)
        for (int c = 0; c < 3 && rgba[3] && rgba[3] < 255; c++) {
            const unsigned value = (rgba[c] * 255u + rgba[3] / 2) / rgba[3];
            rgba[c] = (uint8_t)(value > 255 ? 255 : value);
        }
}

static ssm2d_status decode(image_reader *reader, decoder *d, ssm2d_error *error)
{
    TIFFRGBAImage image;
    char why[1024] = "";
    const size_t rows = reader->info.rows, cols = reader->info.cols;
    if (!TIFFRGBAImageOK(d->tiff, why) || !TIFFRGBAImageBegin(&image, d->tiff, 1, why))
        return damaged(reader, why, error);
    ssm2d_status status = SSM2D_OK;
    image.req_orientation = image.orientation; /* as it is stored: image_orient.c turns it */
    const int alpha = image.alpha != 0;
    const int grey =
        image.photometric == PHOTOMETRIC_MINISBLACK || image.photometric == PHOTOMETRIC_MINISWHITE;
    const int is_large = cols > IMAGE_MAX_WHOLE / 4 / rows;
    d->rgba = is_large ? NULL : mem_alloc(reader->context, rows * cols * 4);
    if (is_large)
        status = fail(error, SSM2D_ERROR_UNSUPPORTED,
                      "%s: has %zu x %zu pixels, too many for a TIFF: save it as PNG",
                      text_path(reader->path), rows, cols);
    else if (!d->rgba)
        status = fail_memory(error, "%s: %zu x %zu pixels", text_path(reader->path), rows, cols);
    else if (!TIFFRGBAImageGet(&image, (uint32_t *)(void *)d->rgba, (uint32_t)cols, (uint32_t)rows))
        status = damaged(reader, "it cannot be decoded", error);
    TIFFRGBAImageEnd(&image);
    if (!status) status = check_missing(reader, error);
    if (status) return status;
    if (alpha) unpremultiply(d->rgba, rows * cols);
    reader->rgba = d->rgba;
    reader->rgba_stride = cols * 4;
    reader->info.channels = (grey ? 1 : 3) + (alpha && reader->options.exact);
    return SSM2D_OK;
}

/* ---- opening and rows ------------------------------------------------------------------------ */

/* Whether rows of 16 bits can be passed on unchanged. */
static int keeps_16(const image_reader *reader, decoder *d)
{
    uint16_t bits = 1, samples = 1, planes = 1, kind = 0, format = SAMPLEFORMAT_UINT, extras = 0,
             *what = NULL;
    TIFF *t = d->tiff;
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planes);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(t, TIFFTAG_EXTRASAMPLES, &extras, &what);
    TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &kind);
    d->white_is_zero = kind == PHOTOMETRIC_MINISWHITE;
    const int grey = kind == PHOTOMETRIC_MINISBLACK || kind == PHOTOMETRIC_MINISWHITE;
    return reader->options.exact && bits == 16 && planes == PLANARCONFIG_CONTIG && !TIFFIsTiled(t)
           && format == SAMPLEFORMAT_UINT && !extras
           && ((grey && samples == 1) || (kind == PHOTOMETRIC_RGB && samples == 3))
           && TIFFScanlineSize(t) == (tmsize_t)(reader->info.cols * samples * 2);
}

static ssm2d_status open_tiff(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    ssm2d_status status = open_file(reader, d, error);
    if (status) return status;
    uint32_t rows = 0, cols = 0;
    uint16_t orientation = 1, samples = 1;
    TIFFGetField(d->tiff, TIFFTAG_IMAGELENGTH, &rows);
    TIFFGetField(d->tiff, TIFFTAG_IMAGEWIDTH, &cols);
    TIFFGetFieldDefaulted(d->tiff, TIFFTAG_ORIENTATION, &orientation);
    if (!rows || !cols || rows > INT32_MAX || cols > IMAGE_MAX_COLS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged TIFF of %u x %u pixels",
                    text_path(reader->path), rows, cols);
    if ((status = image_check_size(reader, rows, cols, error))) return status;
    reader->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    reader->info = (image_info){rows, cols, 3, 8};
    check_strips(d);
    if ((status = check_missing(reader, error))) return status;
    if (!keeps_16(reader, d)) return decode(reader, d, error);
    TIFFGetFieldDefaulted(d->tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    reader->info.channels = samples;
    reader->info.depth = 16;
    return SSM2D_OK;
}

static ssm2d_status read_tiff_row(image_reader *reader, void *row, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    if (TIFFReadScanline(d->tiff, row, (uint32_t)reader->next, 0) != 1)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is damaged in row %zu of %zu: %s",
                    text_path(reader->path), reader->next + 1, reader->info.rows, d->message);
    const ssm2d_status status = check_missing(reader, error);
    if (status) return status;
    uint16_t *samples = row;
    for (size_t i = 0; d->white_is_zero && i < reader->info.cols; i++) samples[i] ^= 0xffff;
    return SSM2D_OK;
}

static void close_tiff(image_reader *reader)
{
    decoder *d = reader->decoder;
    if (d->tiff) TIFFClose(d->tiff);
    mem_free(reader->context, d->file);
    mem_free(reader->context, d->rgba);
}

#endif

const image_format image_tiff = {
    .name = "TIFF",
    .endings = "*.tif, *.tiff",
    /* either byte order; "+": BigTIFF, with larger offsets */
    .magic = {MAGIC("II*\0"), MAGIC("MM\0*"), MAGIC("II+\0"), MAGIC("MM\0+")},
    .converter = "convert FILE FILE.png (ImageMagick)",
#ifdef SSM2D_TIFF
    .decoder_size = sizeof(decoder),
    .open = open_tiff,
    .read_row = read_tiff_row,
    .close = close_tiff,
#endif
};
