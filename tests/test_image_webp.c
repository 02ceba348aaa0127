/* WebP, if the build supports it: with alpha, and with an EXIF orientation. */
#include "image_kind_helpers.h"

#include <webp/encode.h>

/* A lossless picture with alpha; with an orientation in the long form of the file. */
static size_t make_webp(uint8_t *file, int orientation)
{
    uint8_t rgba[ROWS * COLS * 4], *coded, *at = file, exif[64];
    for (size_t i = 0; i < ROWS * COLS; i++) {
        for (int s = 0; s < 3; s++) rgba[4 * i + (size_t)s] = sample(i / COLS, i % COLS, s);
        rgba[4 * i + 3] = i % 3 ? 255 : 51; /* a fifth */
    }
    size_t size = WebPEncodeLosslessRGBA(rgba, COLS, ROWS, COLS * 4, &coded);
    assert_true(size > 12 && size < 2000);
    memcpy(file, coded, size);
    if (orientation) {
        const size_t length = make_exif(exif, orientation, 1);
        at += 12;
        memcpy(at, "VP8X", 4), at += 4;
        put(&at, 10, 4), put(&at, 0x10 | 0x08, 4), put(&at, COLS - 1, 3), put(&at, ROWS - 1, 3);
        memcpy(at, coded + 12, size - 12), at += size - 12;
        memcpy(at, "EXIF", 4), at += 4;
        put(&at, (uint32_t)length, 4);
        memcpy(at, exif, length), at += length;
        size = (size_t)(at - file);
        at = file + 4;
        put(&at, (uint32_t)size - 8, 4);
    }
    WebPFree(coded);
    return size;
}

static void reads_webp(void **state)
{
    (void)state;
    uint8_t file[4096];
    image_info plain, info;
    size_t size = make_webp(file, 0);
    uint8_t *stored = read_good(io_put("a.webp", file, size), &plain), *pixels;
    assert_int_equal(plain.channels, 3);
    for (size_t i = 0; i < ROWS * COLS * 3; i++) {
        const int value = sample(i / 3 / COLS, i / 3 % COLS, (int)(i % 3));
        const int expected = i / 3 % 3 ? value : (value * 51 + 255 * 204 + 127) / 255;
        /* lossless WebP keeps colours unless they are invisible */
        assert_int_equal(stored[i], expected);
    }
    const image_read_options exact = {.exact = 1};
    assert_int_equal(read_with(io_path("a.webp"), &exact, &info, &pixels), SSM2D_OK);
    assert_int_equal(info.channels, 4);
    assert_int_equal(pixels[3], 51);
    assert_int_equal(pixels[1], sample(0, 0, 1));
    free(pixels);
    for (int o = 1; o <= 8; o++) {
        size = make_webp(file, o);
        pixels = read_good(io_put("a.webp", file, size), &info);
        assert_turned(o, &plain, stored, &info, pixels);
        free(pixels);
    }
    free(stored);
    size = make_webp(file, 0);
    for (size_t cut = 1; cut < size; cut += 5) {
        io_put("a.webp", file, cut);
        assert_int_not_equal(read_with(io_path("a.webp"), &exact, &info, &pixels), SSM2D_OK);
        free(pixels);
    }
    const image_read_options limit = {.max_pixels = 34};
    io_put("a.webp", file, size);
    assert_int_equal(read_with(io_path("a.webp"), &limit, &info, &pixels), SSM2D_ERROR_UNSUPPORTED);
    assert_line("has 5 x 7 pixels, more than the 34");
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    uint8_t file[4096] = {0};
    assert_true(allocations_to_read(io_put("a.webp", file, make_webp(file, 6))) >= 5);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_webp),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_webp", tests, io_setup, io_teardown);
}
