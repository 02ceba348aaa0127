/* image_png - reads and writes PNGs with libspng.
 *
 * Every kind of PNG is decoded to RGBA of 8 or 16 bits, which is blended over white and reduced to
 * grey or RGB of 8 bits, or kept. libspng's own memory is limited, but comes from malloc: its
 * allocator does not take a context. */
#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <errno.h>
#include <spng.h>
#include <string.h>
#include <sys/stat.h>

#ifdef SSM2D_FUZZING /* checksums are ignored, so that changed bytes reach the decoder */
enum { CONTEXT_FLAGS = SPNG_CTX_IGNORE_ADLER32, CRC_ACTION = SPNG_CRC_USE };
#else
enum { CONTEXT_FLAGS = 0, CRC_ACTION = SPNG_CRC_ERROR };
#endif

/* Limits in bytes for chunks other than pixels, such as colour profiles: each, and in total. */
enum { MAX_CHUNK = 16 << 20, MAX_CHUNKS = 64 << 20 };
enum { MAX_DEFLATE = 1032 }; /* the highest compression factor of deflate */

typedef struct decoder {
    spng_ctx *png;
    int deep;         /* 16 bits */
    uint8_t *pixels;  /* RGBA: one row, or when interlaced all of them */
    size_t row_bytes; /* of pixels */
    int interlaced;
} decoder;

static ssm2d_status fail_png(image_reader *reader, int code, ssm2d_error *error)
{
    ssm2d_status status = code == SPNG_EMEM ? SSM2D_ERROR_MEMORY : SSM2D_ERROR_ARGUMENT;
    if (!reader->info.rows)
        return fail(error, status, "%s: is a damaged PNG: %s", text_path(reader->path),
                    spng_strerror(code));
    if (code == SPNG_IO_EOF || code == SPNG_IO_ERROR)
        return fail(error, status, "%s: ends in row %zu of %zu", text_path(reader->path),
                    reader->next + 1, reader->info.rows);
    return fail(error, status, "%s: is damaged in row %zu of %zu: %s", text_path(reader->path),
                reader->next + 1, reader->info.rows, spng_strerror(code));
}

/* Decodes all passes of an interlaced image into d->pixels. */
static ssm2d_status read_whole(image_reader *reader, decoder *d, ssm2d_error *error)
{
    struct spng_row_info row = {0};
    int code;
    do {
        code = spng_get_row_info(d->png, &row);
        if (!code)
            code = spng_decode_row(d->png, d->pixels + row.row_num * d->row_bytes, d->row_bytes);
    } while (!code);
    if (code == SPNG_EOI) code = spng_decode_chunks(d->png);
    if (!code) return SSM2D_OK;
    reader->next = row.row_num; /* for the message */
    return fail_png(reader, code, error);
}

/* Whether the file is too short for its pixels, even at the highest compression of deflate. */
static int is_too_short(const image_reader *reader, const struct spng_ihdr *header)
{
    static const int samples[] = {[SPNG_COLOR_TYPE_GRAYSCALE] = 1,
                                  [SPNG_COLOR_TYPE_TRUECOLOR] = 3,
                                  [SPNG_COLOR_TYPE_INDEXED] = 1,
                                  [SPNG_COLOR_TYPE_GRAYSCALE_ALPHA] = 2,
                                  [SPNG_COLOR_TYPE_TRUECOLOR_ALPHA] = 4};
    struct stat file;
    if (fstat(fileno(reader->stream), &file) || !S_ISREG(file.st_mode)) return 0;
    const double bits = (double)header->width * header->bit_depth * samples[header->color_type];
    return bits / 8 * header->height > (double)file.st_size * MAX_DEFLATE;
}

static ssm2d_status open_png(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    if (!(d->png = spng_ctx_new(CONTEXT_FLAGS))) return image_no_memory(reader, error);

    struct spng_ihdr header;
    int code = spng_set_image_limits(d->png, IMAGE_MAX_COLS, INT32_MAX);
    if (!code) code = spng_set_chunk_limits(d->png, MAX_CHUNK, MAX_CHUNKS);
    if (!code) code = spng_set_crc_action(d->png, CRC_ACTION, CRC_ACTION);
    if (!code) code = spng_set_png_file(d->png, reader->stream);
    if (!code) code = spng_get_ihdr(d->png, &header);
    if (code) return fail_png(reader, code, error);
    ssm2d_status status = image_check_size(reader, header.height, header.width, error);
    if (status) return status;
    d->deep = header.bit_depth == 16;
    d->interlaced = header.interlace_method != 0;
    d->row_bytes = (size_t)header.width * (d->deep ? 8 : 4);
    if (d->interlaced && d->row_bytes > IMAGE_MAX_WHOLE / header.height)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: has %u x %u pixels and is interlaced: save it without interlacing",
                    text_path(reader->path), header.height, header.width);
    if (d->interlaced && is_too_short(reader, &header))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is too short for its %u x %u pixels",
                    text_path(reader->path), header.height, header.width);
    d->pixels = mem_alloc(reader->context, d->row_bytes * (d->interlaced ? header.height : 1));
    if (!d->pixels)
        return fail_memory(error, "%s: %u columns", text_path(reader->path), header.width);
    int grey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE
               || header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
    reader->info = (image_info){header.height, header.width, grey ? 1 : 3, 8};
    if (reader->options.exact) {
        struct spng_trns key;
        const int alpha = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA
                          || header.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA
                          || !spng_get_trns(d->png, &key);
        reader->info.channels += alpha;
        reader->info.depth = d->deep ? 16 : 8;
    }
    struct spng_exif exif;
    if (!spng_get_exif(d->png, &exif))
        reader->orientation = exif_orientation((const uint8_t *)exif.data, exif.length);
    code = spng_decode_image(d->png, NULL, 0, d->deep ? SPNG_FMT_RGBA16 : SPNG_FMT_RGBA8,
                             SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE);
    if (code) return fail_png(reader, code, error);
    return d->interlaced ? read_whole(reader, d, error) : SSM2D_OK;
}

static ssm2d_status read_png_row(image_reader *reader, void *row, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    const uint8_t *pixels = d->pixels;
    if (d->interlaced)
        pixels += reader->next * d->row_bytes;
    else {
        int code = spng_decode_row(d->png, d->pixels, d->row_bytes),
            last = reader->next + 1 == reader->info.rows;
        /* reads on to the end of the file, so that a bad checksum is noticed */
        if (last && code == SPNG_EOI) code = spng_decode_chunks(d->png);
        if (code) return fail_png(reader, code, error);
    }
    image_row_from_rgba(reader, pixels, d->deep, row);
    return SSM2D_OK;
}

static void close_png(image_reader *reader)
{
    decoder *d = reader->decoder;
    spng_ctx_free(d->png);
    mem_free(reader->context, d->pixels);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_bytes(spng_ctx *png, void *user, void *bytes, size_t size)
{
    (void)png;
    image_writer *writer = user;
    errno = 0;
    if (!size || fwrite(bytes, 1, size, image_stream(writer)) == size) return 0;
    return SPNG_IO_ERROR;
}

static ssm2d_status fail_encoding(image_writer *writer, int code, ssm2d_error *error)
{
    if (code == SPNG_IO_ERROR) return image_write_failed(writer, error);
    return fail(error, code == SPNG_EMEM ? SSM2D_ERROR_MEMORY : SSM2D_ERROR_SYSTEM,
                "%s: cannot be written as PNG: %s", text_path(writer->path), spng_strerror(code));
}

static ssm2d_status create_png(image_writer *writer, ssm2d_error *error)
{
    static const uint8_t types[] = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                    SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
    struct spng_ihdr header = {
        .width = (uint32_t)writer->info.cols,
        .height = (uint32_t)writer->info.rows,
        .bit_depth = writer->info.depth == 16 ? 16 : 8,
        .color_type = types[writer->info.channels - 1],
    };
    spng_ctx *png = *(spng_ctx **)writer->encoder = spng_ctx_new(SPNG_CTX_ENCODER);
    int code = png ? spng_set_png_stream(png, write_bytes, writer) : SPNG_EMEM;
    if (!code) code = spng_set_ihdr(png, &header);
    if (!code)
        code = spng_encode_image(png, NULL, 0, SPNG_FMT_PNG,
                                 SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE);
    return code ? fail_encoding(writer, code, error) : SSM2D_OK;
}

static ssm2d_status write_png_row(image_writer *writer, const void *row, int last,
                                  ssm2d_error *error)
{
    const int code =
        spng_encode_row(*(spng_ctx **)writer->encoder, row, image_row_bytes(&writer->info));
    return code == (last ? SPNG_EOI : 0) ? SSM2D_OK : fail_encoding(writer, code, error);
}

static void destroy_png(image_writer *writer) { spng_ctx_free(*(spng_ctx **)writer->encoder); }

/* The first byte occurs in no text, so a file that begins with it is a PNG or a damaged one. */
const image_format image_png = {
    .name = "PNG",
    .endings = "*.png",
    .magic = {MAGIC("\x89")},
    .decoder_size = sizeof(decoder),
    .open = open_png,
    .read_row = read_png_row,
    .close = close_png,
    .encoder_size = sizeof(spng_ctx *),
    .max_side = INT32_MAX,
    .create = create_png,
    .write_row = write_png_row,
    .destroy = destroy_png,
};
