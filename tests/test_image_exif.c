/* PNG and JPEG files with an EXIF orientation. */
#include "image_kind_helpers.h"

#include "io/image_format.h"

#include <spng.h>

static void reads_exif(void **state)
{
    (void)state;
    uint8_t block[64] = "Exif\0\0";
    for (int o = 0; o < 20; o++)
        for (int big = 0; big < 2; big++) {
            const size_t size = make_exif(block + 6, o, big);
            const int expected = o >= 1 && o <= 8 ? o : 1;
            assert_int_equal(exif_orientation(block + 6, size), expected);
            assert_int_equal(exif_orientation(block, size + 6), expected);
            for (size_t cut = 0; cut < 22; cut++) /* its entry ends at 22 */
                assert_int_equal(exif_orientation(block + 6, cut), 1);
        }
    make_exif(block, 6, 0);
    block[4] = block[5] = block[6] = block[7] = 0xff; /* a directory beyond the end */
    assert_int_equal(exif_orientation(block, 26), 1);
    make_exif(block, 6, 0);
    block[12] = 4; /* not a SHORT */
    assert_int_equal(exif_orientation(block, 26), 1);
}

static const char *make_png(const char *name, int orientation)
{
    uint8_t pixels[ROWS * COLS * 3], exif[64];
    struct spng_ihdr header = {COLS, ROWS, 8, SPNG_COLOR_TYPE_TRUECOLOR, 0, 0, 0};
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = sample(i / 3 / COLS, i / 3 % COLS, (int)(i % 3));
    FILE *f = fopen(io_path(name), "wb");
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    struct spng_exif block = {make_exif(exif, orientation, 1), (char *)exif};
    assert_int_equal(spng_set_png_file(png, f), 0);
    assert_int_equal(spng_set_ihdr(png, &header), 0);
    if (orientation) assert_int_equal(spng_set_exif(png, &block), 0);
    assert_int_equal(
        spng_encode_image(png, pixels, sizeof pixels, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE), 0);
    spng_ctx_free(png);
    fclose(f);
    return io_path(name);
}

static void turns_pngs(void **state)
{
    (void)state;
    image_info plain, turned;
    uint8_t *stored = read_good(make_png("a.png", 0), &plain);
    assert_int_equal(stored[0], sample(0, 0, 0));
    for (int o = 1; o <= 8; o++) {
        uint8_t *upright = read_good(make_png("b.png", o), &turned);
        assert_turned(o, &plain, stored, &turned, upright);
        free(upright);
    }
    free(stored);
}

static void turns_jpegs(void **state)
{
    (void)state;
    image_info plain, turned;
    jpeg_kind k = {JCS_RGB, JCS_YCbCr, 3, 0, 0};
    uint8_t *stored = read_good(make_jpeg("a.jpg", &k, NULL), &plain);
    for (k.orientation = 1; k.orientation <= 8; k.orientation++) {
        uint8_t *upright = read_good(make_jpeg("b.jpg", &k, NULL), &turned);
        assert_turned(k.orientation, &plain, stored, &turned, upright);
        free(upright);
    }
    free(stored);
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    assert_true(allocations_to_read(make_png("a.png", 8)) >= 4);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_exif),
        TEST(turns_pngs),
        TEST(turns_jpegs),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_exif", tests, io_setup, io_teardown);
}
