/* image_tiff - reading the first picture of a TIFF with libtiff. The file is held in memory, so
 * that pipes can be read as well, and the picture is decoded whole, to RGBA of 8 bits; or, when 16
 * bits are to be kept and rows are stored one by one, row by row. */
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
    uint8_t *rgba;     /* the picture; NULL: rows are read one by one */
    int white_is_zero; /* of such rows */
    char message[160]; /* libtiff's first */
} decoder;

/* ---- the file in memory, as libtiff asks for it ---------------------------------------------- */

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
    if (d->at > d->size) d->at = d->size; /* reading there gives nothing */
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

static int ignore_message(TIFF *tiff, void *user, const char *module, const char *format,
                          va_list ap)
{
    (void)tiff, (void)user, (void)module, (void)format, (void)ap;
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
    if (!o)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to read it", text_path(reader->path));
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, (tmsize_t)IMAGE_MAX_WHOLE);
    TIFFOpenOptionsSetErrorHandlerExtR(o, keep_message, d);
    TIFFOpenOptionsSetWarningHandlerExtR(o, ignore_message, NULL);
    d->tiff = TIFFClientOpenExt("image", "rm", d, read_bytes, write_bytes, seek, close_nothing,
                                size_of, NULL, NULL, o);
    TIFFOpenOptionsFree(o);
    return d->tiff ? SSM2D_OK : damaged(reader, "it has no directory", error);
}

/* ---- 8 bits ---------------------------------------------------------------------------------- */

/* libtiff multiplies colours by alpha: here they are divided by it again. */
static void straighten(uint8_t *rgba, size_t pixels)
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
                      "%s: has %zu x %zu pixels, more than are read of a TIFF: save it as PNG",
                      text_path(reader->path), rows, cols);
    else if (!d->rgba)
        status = fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for %zu x %zu pixels",
                      text_path(reader->path), rows, cols);
    else if (!TIFFRGBAImageGet(&image, (uint32_t *)(void *)d->rgba, (uint32_t)cols, (uint32_t)rows))
        status = damaged(reader, "it cannot be decoded", error);
    TIFFRGBAImageEnd(&image);
    if (status) return status;
    if (alpha) straighten(d->rgba, rows * cols);
    reader->info.channels = (grey ? 1 : 3) + (alpha && reader->options.exact);
    return SSM2D_OK;
}

/* ---- opening and rows ------------------------------------------------------------------------ */

/* Whether rows of 16 bits can be given as they are. */
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
    decoder *d = reader->decoder = mem_alloc(reader->context, sizeof *d);
    if (!d)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to read it", text_path(reader->path));
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
    if (!keeps_16(reader, d)) return decode(reader, d, error);
    TIFFGetFieldDefaulted(d->tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    reader->info.channels = samples;
    reader->info.depth = 16;
    return SSM2D_OK;
}

static ssm2d_status read_tiff_row(image_reader *reader, void *row, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    if (d->rgba) {
        image_row_from_rgba(reader, d->rgba + reader->next * reader->info.cols * 4, 0, row);
        return SSM2D_OK;
    }
    if (TIFFReadScanline(d->tiff, row, (uint32_t)reader->next, 0) != 1)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is damaged in row %zu of %zu: %s",
                    text_path(reader->path), reader->next + 1, reader->info.rows, d->message);
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
    mem_free(reader->context, d);
}

const image_format image_tiff = {"TIFF", "IM", open_tiff, read_tiff_row, close_tiff};
#else
const image_format image_tiff = {.name = "TIFF", .first_bytes = "IM"};
#endif
