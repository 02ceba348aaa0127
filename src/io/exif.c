#include "io/exif.h"

#include <string.h>

/* An EXIF block is the head of a TIFF file: byte order, 42, the offset of a directory; that is a
 * count and entries of 12 bytes, (tag, type, count, value). */
enum { ORIENTATION = 0x112, SHORT = 3, ENTRY = 12 };

typedef struct block {
    const uint8_t *bytes;
    size_t size;
    int big_endian;
} block;

static uint32_t number(const block *b, size_t at, size_t bytes)
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
    const size_t directory = number(&b, 4, 4);
    if (directory > size - 2) return 1;
    const size_t entries = number(&b, directory, 2);
    for (size_t i = 0, at = directory + 2; i < entries && at + ENTRY <= size; i++, at += ENTRY) {
        if (number(&b, at, 2) != ORIENTATION) continue;
        const uint32_t value = number(&b, at + 8, 2);
        return number(&b, at + 2, 2) == SHORT && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}
