/* fuzz_image - any bytes as an image, read row by row. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "io/image.h"

#include <sys/mman.h>
#include <unistd.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { PIXELS_MOST = 1 << 22, ROWS_MOST = 3000 };

/* A frame header of a JPEG that is honest about many pixels only takes time. */
static int large_jpeg(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 9 <= size; i++)
        if (data[i] == 0xff && data[i + 1] >= 0xc0 && data[i + 1] <= 0xcf
            && (data[i + 5] * 256u + data[i + 6]) * (data[i + 7] * 256u + data[i + 8])
                   > PIXELS_MOST)
            return 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("image", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (size && data[0] == 0xff && large_jpeg(data, size)) return 0;
    REQUIRE(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);

    image_reader *reader;
    image_info info;
    ssm2d_error error = {{0}};
    if (image_open(fuzz_context(), path, &reader, &info, &error)) {
        REQUIRE(!reader);
        fuzz_check_line(&error, path);
        return 0;
    }
    REQUIRE(info.rows && info.cols && (info.channels == 1 || info.channels == 3));
    /* exactly, so that writing beyond is seen */
    uint8_t *row = malloc(info.cols * (size_t)info.channels);
    REQUIRE(row);
    size_t most = info.rows < ROWS_MOST ? info.rows : ROWS_MOST;
    if (most > PIXELS_MOST / info.cols) most = PIXELS_MOST / info.cols;
    for (size_t r = 0; r < most; r++)
        if (image_read_row(reader, row, &error)) {
            fuzz_check_line(&error, path);
            REQUIRE(image_read_row(reader, row, &error));
            break;
        }
    free(row);
    image_close(reader);
    return 0;
}

static uint32_t read32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t crc(const uint8_t *bytes, size_t size)
{
    uint32_t c = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        c ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >> 1) : c >> 1;
    }
    return ~c;
}

/* The checksums of a PNG's chunks are mended, or nothing behind them would ever be reached. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    if (size < 8 || data[0] != 0x89 || seed % 16 == 0) return size;
    for (size_t at = 8; size - at >= 12;) {
        size_t length = read32(data + at);
        if (length > size - at - 12) break;
        uint32_t sum = crc(data + at + 4, length + 4);
        for (int i = 0; i < 4; i++)
            data[at + 8 + length + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
        at += length + 12;
    }
    return size;
}
