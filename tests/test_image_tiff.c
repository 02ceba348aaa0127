/* TIFF, if the build supports it: its depths, alpha, and orientations. */
#include "image_kind_helpers.h"

#include <tiffio.h>

typedef struct tiff_kind {
    int bits, samples, orientation, alpha, pack;
} tiff_kind;

static const char *make_tiff(const char *name, const tiff_kind *k)
{
    TIFF *t = TIFFOpen(io_path(name), "w");
    assert_non_null(t);
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, COLS);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, ROWS);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, k->bits);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, k->samples);
    TIFFSetField(t, TIFFTAG_ORIENTATION, k->orientation ? k->orientation : 1);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, k->samples < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_COMPRESSION, k->pack ? COMPRESSION_LZW : COMPRESSION_NONE);
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 2);
    if (k->alpha) TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, (uint16_t[]){EXTRASAMPLE_UNASSALPHA});
    for (size_t r = 0; r < ROWS; r++) {
        uint8_t row[COLS * 4];
        uint16_t wide[COLS * 4];
        for (size_t i = 0; i < COLS * (size_t)k->samples; i++) {
            const size_t c = i / (size_t)k->samples;
            const int s = (int)(i % (size_t)k->samples);
            row[i] = k->alpha && s == 3 ? 51 : sample(r, c, s);
            wide[i] = (uint16_t)(row[i] * 257u + (i % 2 ? 60 : 0));
        }
        assert_int_equal(TIFFWriteScanline(t, k->bits == 16 ? (void *)wide : row, (uint32_t)r, 0),
                         1);
    }
    TIFFClose(t);
    return io_path(name);
}

static void reads_tiffs(void **state)
{
    (void)state;
    image_info info;
    uint8_t *pixels;
    static const tiff_kind kinds[] = {{8, 1},  {8, 3},  {8, 3, 0, 0, 1},
                                      {16, 1}, {16, 3}, {8, 4, 0, 1}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const tiff_kind *k = &kinds[i];
        pixels = read_good(make_tiff("a.tif", k), &info);
        const int channels = k->samples == 1 ? 1 : 3;
        assert_int_equal(info.channels, channels);
        assert_int_equal(info.depth, 8);
        for (size_t p = 0; p < ROWS * COLS * (size_t)channels; p++) {
            const size_t at = p / (size_t)channels;
            const int value = sample(at / COLS, at % COLS, (int)(p % (size_t)channels));
            const int expected = k->alpha ? (value * 51 + 255 * 204 + 127) / 255 : value;
            assert_in_range(pixels[p] - expected + k->alpha, 0, 2 * k->alpha);
        }
        free(pixels);
    }
    const image_read_options exact = {.exact = 1};
    assert_int_equal(read_with(make_tiff("a.tif", &kinds[4]), &exact, &info, &pixels), SSM2D_OK);
    assert_int_equal(info.depth, 16);
    assert_int_equal(((uint16_t *)(void *)pixels)[1], sample(0, 0, 1) * 257 + 60);
    free(pixels);
    uint8_t *stored = read_good(make_tiff("a.tif", &kinds[1]), &info);
    for (int o = 1; o <= 8; o++) {
        image_info turned;
        const tiff_kind k = {8, 3, o, 0, 0};
        pixels = read_good(make_tiff("b.tif", &k), &turned);
        assert_turned(o, &info, stored, &turned, pixels);
        free(pixels);
    }
    free(stored);
}

static void refuses_bad_tiffs(void **state)
{
    (void)state;
    const tiff_kind k = {8, 3, 0, 0, 1};
    size_t size;
    image_info info;
    uint8_t *pixels, *file = io_get(make_tiff("a.tif", &k), &size);
    const image_read_options limit = {.max_pixels = 34};
    assert_int_equal(read_with(io_path("a.tif"), &limit, &info, &pixels), SSM2D_ERROR_UNSUPPORTED);
    for (size_t cut = 1; cut < size - 6; cut += 7) {
        io_put("a.tif", file, cut);
        assert_int_not_equal(read_with(io_path("a.tif"), &(image_read_options){0}, &info, &pixels),
                             SSM2D_OK);
        assert_line("/a.tif: ");
        free(pixels);
    }
    free(file);
}

/* Writes 16 rows in one strip or in two, and `more` bytes, with a header that declares four times
 * as many rows in the image and in each strip. */
static const char *short_tiff(uint16_t compression, int strips, size_t more)
{
    enum { WIDE = 64 };
    size_t size;
    const int black_white = compression == COMPRESSION_CCITTFAX4;
    TIFF *t = TIFFOpen(io_path("short.tif"), "w");
    assert_non_null(t);
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, WIDE);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, 16);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, black_white ? 1 : 8);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_COMPRESSION, compression);
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 16 / strips);
    uint8_t row[WIDE] = {1, 2, 3};
    for (uint32_t r = 0; r < 16; r++) assert_int_equal(TIFFWriteScanline(t, row, r, 0), 1);
    TIFFClose(t);
    uint8_t *file = io_get(io_path("short.tif"), &size), *longer = calloc(size + more, 1);
    memcpy(longer, file, size);
    const size_t at = file[4] | (size_t)file[5] << 8; /* of the directory, little-endian */
    for (size_t i = 0; i < longer[at]; i++) {
        uint8_t *entry = longer + at + 2 + 12 * i;
        const int tag = entry[0] | entry[1] << 8;
        if (tag == TIFFTAG_IMAGELENGTH || tag == TIFFTAG_ROWSPERSTRIP) entry[8] *= 4;
    }
    io_put("short.tif", longer, size + more);
    free(longer);
    free(file);
    return io_path("short.tif");
}

static void refuses_short_strips(void **state)
{
    (void)state;
    image_info info;
    uint8_t *pixels;
    const uint16_t kinds[] = {COMPRESSION_NONE, COMPRESSION_JPEG, COMPRESSION_CCITTFAX4};
    for (int i = 0; i < 6; i++) {
        const char *path = short_tiff(kinds[i / 2], 1 + i % 2, 1 << 16);
        const image_read_options exact = {.exact = i % 2};
        if (!read_with(path, &exact, &info, &pixels)) fail_msg("case %d was read", i);
        assert_line("has fewer rows than the 64 of its header");
        free(pixels);
    }
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    const tiff_kind t = {8, 3, 6, 0, 0};
    assert_true(allocations_to_read(make_tiff("a.tif", &t)) >= 5);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_tiffs),
        TEST(refuses_bad_tiffs),
        TEST(refuses_short_strips),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_tiff", tests, io_setup, io_teardown);
}
