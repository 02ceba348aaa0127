/* image_bmp - reads BMPs: palettes of 1, 4 and 8 bits, and colours of 16, 24 and 32 bits with or
 * without masks. RLE is unsupported (rare).
 *
 * A file is a header of 14 bytes, a description whose first field is its size (12 for OS/2's, else
 * 40 or more), masks, a palette of B, G, R and an unused byte, and rows padded to 4 bytes, the last
 * row first unless the height is negative. */
#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <string.h>
#include <sys/stat.h>

enum { FILE_HEADER = 14, OS2 = 12, WINDOWS = 40, MAX_DESCRIPTION = 256, MAX_PALETTE = 256 };
enum { PLAIN = 0, MASKS = 3, ALPHA_MASKS = 6 }; /* supported kinds of compression */

typedef struct decoder {
    size_t row_bytes;
    int bits, os2;
    uint32_t masks[4]; /* of R, G, B and alpha, for 16 and 32 bits */
    uint8_t palette[MAX_PALETTE][4];
    uint32_t colours; /* in the palette */
    uint8_t *stored, *rgba;
} decoder;

static uint32_t little_endian(const uint8_t *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint32_t)at[i] << 8 * i;
    return value;
}

static ssm2d_status cut_off(const image_reader *reader, ssm2d_error *error)
{
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged BMP: the file ends early",
                text_path(reader->path));
}

/* Reads everything before the rows; *skip: unused bytes between that and the rows. */
static ssm2d_status read_head(image_reader *reader, decoder *d, long *skip, ssm2d_error *error)
{
    uint8_t head[FILE_HEADER + 4], about[MAX_DESCRIPTION] = {0};
    FILE *f = reader->stream;
    if (fread(head, 1, sizeof head, f) != sizeof head) return cut_off(reader, error);
    const uint32_t size = little_endian(head + FILE_HEADER, 4);
    if (memcmp(head, "BM", 2) || (size != OS2 && (size < WINDOWS || size > MAX_DESCRIPTION)))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: unsupported BMP variant: save it as PNG",
                    text_path(reader->path));
    if (fread(about + 4, 1, size - 4, f) != size - 4) return cut_off(reader, error);
    d->os2 = size == OS2;
    int32_t cols = (int32_t)little_endian(about + 4, d->os2 ? 2 : 4);
    int64_t rows =
        d->os2 ? (int64_t)little_endian(about + 6, 2) : (int32_t)little_endian(about + 8, 4);
    d->bits = (int)little_endian(about + (d->os2 ? 10 : 14), 2);
    const uint32_t packed = d->os2 ? 0 : little_endian(about + 16, 4);
    reader->orientation = rows > 0 ? 4 : 1; /* the last row comes first */
    if (rows < 0) rows = -rows;
    if (cols < 1 || rows < 1 || cols > IMAGE_MAX_COLS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged BMP of %ld x %d pixels",
                    text_path(reader->path), (long)rows, (int)cols);
    ssm2d_status status = image_check_size(reader, (size_t)rows, (size_t)cols, error);
    if (status) return status;
    const int masked = packed == MASKS || packed == ALPHA_MASKS;
    if (!(d->bits == 1 || d->bits == 4 || d->bits == 8 || d->bits == 16 || d->bits == 24
          || d->bits == 32)
        || (packed != PLAIN && !(masked && (d->bits == 16 || d->bits == 32))))
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: is a BMP of %d bits with compression %u: save it as PNG",
                    text_path(reader->path), d->bits, packed);
    reader->info = (image_info){(size_t)rows, (size_t)cols, 3, 8};
    uint32_t used = FILE_HEADER + size;
    if (masked) {
        const uint32_t count = packed == ALPHA_MASKS ? 4 : 3;
        if (size == WINDOWS) { /* they follow; later descriptions contain them */
            if (fread(about + WINDOWS, 1, 4 * count, f) != 4 * count) return cut_off(reader, error);
            used += 4 * count;
        }
        const uint32_t known = size == WINDOWS ? count : size >= WINDOWS + 16 ? 4 : 3;
        for (uint32_t i = 0; i < known; i++)
            d->masks[i] = little_endian(about + WINDOWS + 4 * i, 4);
    } else if (d->bits == 16) {
        memcpy(d->masks, (const uint32_t[]){0x7c00, 0x3e0, 0x1f, 0}, sizeof d->masks);
    } else if (d->bits == 32) {
        memcpy(d->masks, (const uint32_t[]){0xff0000, 0xff00, 0xff, 0}, sizeof d->masks);
    }
    if (d->bits <= 8) {
        const uint32_t all = 1u << d->bits, said = d->os2 ? 0 : little_endian(about + 32, 4);
        const size_t entry = d->os2 ? 3 : 4;
        d->colours = said && said < all ? said : all;
        for (uint32_t i = 0; i < d->colours; i++)
            if (fread(d->palette[i], 1, entry, f) != entry) return cut_off(reader, error);
        used += d->colours * (uint32_t)entry;
    }
    const uint32_t start = little_endian(head + 10, 4);
    if (start < used)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: is a damaged BMP: pixels at byte %u, which is in its header",
                    text_path(reader->path), start);
    *skip = (long)(start - used);
    return SSM2D_OK;
}

static int is_grey(const decoder *d)
{
    for (uint32_t i = 0; i < d->colours; i++)
        if (d->palette[i][0] != d->palette[i][1] || d->palette[i][0] != d->palette[i][2]) return 0;
    return d->colours > 0;
}

/* Whether the file is too short for its rows; checked before memory is allocated for them. */
static int too_short(const image_reader *reader, const decoder *d)
{
    struct stat info;
    if (fstat(fileno(reader->stream), &info) || !S_ISREG(info.st_mode)) return 0;
    return (size_t)info.st_size / d->row_bytes < reader->info.rows;
}

static ssm2d_status open_bmp(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    long skip = 0;
    ssm2d_status status = read_head(reader, d, &skip, error);
    if (status) return status;
    for (; skip > 0; skip--) /* it may be a pipe, which cannot seek */
        if (getc(reader->stream) == EOF) return cut_off(reader, error);
    d->row_bytes = (reader->info.cols * (size_t)d->bits + 31) / 32 * 4;
    if (too_short(reader, d)) return cut_off(reader, error);
    if (is_grey(d)) reader->info.channels = 1;
    if (reader->options.exact && d->masks[3]) reader->info.channels = 4;
    d->stored = mem_alloc(reader->context, d->row_bytes);
    d->rgba = mem_alloc(reader->context, 4 * reader->info.cols);
    if (!d->stored || !d->rgba)
        return fail_memory(error, "%s: %zu columns", text_path(reader->path), reader->info.cols);
    return SSM2D_OK;
}

/* The bits of a mask as 0 to 255, rounded. */
static uint8_t masked(uint32_t pixel, uint32_t mask, uint8_t without)
{
    if (!mask) return without;
    const int low = __builtin_ctz(mask);
    const uint64_t largest = mask >> low, value = (pixel & mask) >> low;
    return (uint8_t)((value * 255 + largest / 2) / largest);
}

static void unpack(const decoder *d, size_t i, uint8_t out[4])
{
    const uint8_t *b;
    uint32_t pixel;
    switch (d->bits) {
    case 24:
        b = d->stored + 3 * i;
        out[0] = b[2], out[1] = b[1], out[2] = b[0], out[3] = 255;
        break;
    case 16:
    case 32:
        pixel = little_endian(d->stored + i * (size_t)d->bits / 8, d->bits / 8);
        for (int c = 0; c < 4; c++) out[c] = masked(pixel, d->masks[c], c == 3 ? 255 : 0);
        break;
    default: /* an index beyond the palette is black: unused entries are zero */
        pixel = d->stored[i * (size_t)d->bits / 8] >> (8 - d->bits - (int)(i * d->bits % 8));
        b = d->palette[pixel & ((1u << d->bits) - 1)];
        out[0] = b[2], out[1] = b[1], out[2] = b[0], out[3] = 255;
    }
}

static ssm2d_status read_bmp_row(image_reader *reader, void *row, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    if (fread(d->stored, 1, d->row_bytes, reader->stream) != d->row_bytes)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: ends in row %zu of %zu",
                    text_path(reader->path), reader->next + 1, reader->info.rows);
    for (size_t i = 0; i < reader->info.cols; i++) unpack(d, i, d->rgba + 4 * i);
    image_row_from_rgba(reader, d->rgba, 0, row);
    return SSM2D_OK;
}

static void close_bmp(image_reader *reader)
{
    decoder *d = reader->decoder;
    mem_free(reader->context, d->stored);
    mem_free(reader->context, d->rgba);
}

const image_format image_bmp = {
    .name = "BMP",
    .endings = "*.bmp",
    .magic = {MAGIC("BM")},
    .decoder_size = sizeof(decoder),
    .open = open_bmp,
    .read_row = read_bmp_row,
    .close = close_bmp,
};
