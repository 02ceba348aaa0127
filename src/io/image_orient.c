/* image_orient - images that are stored rotated or mirrored, by their EXIF orientation, and BMPs,
 * which begin with their last row. All rows are decoded before the first is returned.
 *
 * Pixel (r, c) of the upright image is this pixel of the R x C stored ones:
 *     1  (r, c)            5  (c, r)
 *     2  (r, C-1-c)        6  (R-1-c, r)
 *     3  (R-1-r, C-1-c)    7  (R-1-c, C-1-r)
 *     4  (R-1-r, c)        8  (c, C-1-r) */
#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <string.h>

/* An EXIF block is the head of a TIFF file: byte order, 42, the offset of a directory; that is a
 * count and entries of 12 bytes, (tag, type, count, value). */
enum { ORIENTATION = 0x112, SHORT = 3, ENTRY = 12 };

typedef struct block {
    const uint8_t *bytes;
    size_t size;
    int big_endian;
} block;

static uint32_t integer(const block *b, size_t at, size_t bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint32_t)b->bytes[at + i] << 8 * (b->big_endian ? bytes - 1 - i : i);
    return value;
}

int exif_orientation(const uint8_t *bytes, size_t size)
{
    if (size >= 6 && !memcmp(bytes, "Exif\0", 5)) {
        bytes += 6;
        size -= 6;
    }
    if (size < 8 || (memcmp(bytes, "II*\0", 4) && memcmp(bytes, "MM\0*", 4))) return 1;
    const block b = {bytes, size, bytes[0] == 'M'};
    const size_t directory = integer(&b, 4, 4);
    if (directory > size - 2) return 1;
    const size_t entries = integer(&b, directory, 2);
    for (size_t i = 0, at = directory + 2; i < entries && at + ENTRY <= size; i++, at += ENTRY) {
        if (integer(&b, at, 2) != ORIENTATION) continue;
        const uint32_t value = integer(&b, at + 8, 2);
        return integer(&b, at + 2, 2) == SHORT && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

image_info image_oriented_info(const image_reader *reader)
{
    image_info info = reader->info;
    if (reader->orientation >= 5) {
        info.rows = reader->info.cols;
        info.cols = reader->info.rows;
    }
    return info;
}

ssm2d_status image_orient_check(const image_reader *reader, ssm2d_error *error)
{
    const size_t row = image_row_bytes(&reader->info);
    if (reader->orientation <= 1 || reader->info.rows <= IMAGE_MAX_WHOLE / row) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "%s: has %zu x %zu pixels, too many to rotate (orientation %d): save it upright",
                text_path(reader->path), reader->info.rows, reader->info.cols, reader->orientation);
}

static ssm2d_status decode_all(image_reader *reader, ssm2d_error *error)
{
    const size_t row = image_row_bytes(&reader->info);
    ssm2d_status status = SSM2D_OK;
    reader->whole = mem_alloc(reader->context, reader->info.rows * row);
    if (!reader->whole)
        return fail_memory(error, "%s: rotating %zu x %zu pixels", text_path(reader->path),
                           reader->info.rows, reader->info.cols);
    for (; reader->next < reader->info.rows && !status; reader->next += !status)
        status = image_decode_row(reader, reader->whole + reader->next * row, error);
    return status;
}

ssm2d_status image_oriented_row(image_reader *reader, void *row, ssm2d_error *error)
{
    const size_t pixel = image_row_bytes(&reader->info) / reader->info.cols;
    const size_t rows = reader->info.rows, cols = reader->info.cols, r = reader->given;
    const int o = reader->orientation, swapped = o >= 5;
    ssm2d_status status = reader->whole ? SSM2D_OK : decode_all(reader, error);
    if (status) return status;
    /* the first pixel of the row, and the step from one pixel to the next */
    const int from_bottom = o == 3 || o == 4 || o == 6 || o == 7;
    const int from_right = o == 2 || o == 3 || o == 7 || o == 8;
    const size_t along = swapped ? rows : cols; /* pixels of the row */
    size_t y = swapped ? 0 : r, x = swapped ? r : 0;
    if (from_bottom) y = rows - 1 - y;
    if (from_right) x = cols - 1 - x;
    const ptrdiff_t step =
        swapped ? (from_bottom ? -(ptrdiff_t)cols : (ptrdiff_t)cols) : (from_right ? -1 : 1);
    ptrdiff_t at = (ptrdiff_t)(y * cols + x);
    for (size_t i = 0; i < along; i++, at += step)
        memcpy((uint8_t *)row + i * pixel, reader->whole + (size_t)at * pixel, pixel);
    return SSM2D_OK;
}
