/* HEIC and AVIF, if libheif is installed: pictures that it has encoded are decoded correctly. */
#include "image_kind_helpers.h"

#include <libheif/heif.h>

enum { SIDE = 64, CLOSE = 12 }; /* lossy codes are near, for smooth pictures */

static uint8_t value(int r, int c, int s) { return (uint8_t)(40 + 2 * r + c + 20 * s); }

/* NULL: this libheif has no encoder for the format. */
static const char *make_heif(enum heif_compression_format format, int rows)
{
    struct heif_context *heif = heif_context_alloc();
    struct heif_encoder *encoder = NULL;
    struct heif_image *image = NULL;
    int stride;
    assert_non_null(heif);
    if (heif_context_get_encoder_for_format(heif, format, &encoder).code) {
        heif_context_free(heif);
        return NULL;
    }
    heif_encoder_set_lossy_quality(encoder, 95);
    assert_int_equal(
        heif_image_create(SIDE, rows, heif_colorspace_RGB, heif_chroma_interleaved_RGB, &image)
            .code,
        0);
    assert_int_equal(heif_image_add_plane(image, heif_channel_interleaved, SIDE, rows, 8).code, 0);
    uint8_t *pixels = heif_image_get_plane(image, heif_channel_interleaved, &stride);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 3 * SIDE; i++) pixels[r * stride + i] = value(r, i / 3, i % 3);
    assert_int_equal(heif_context_encode_image(heif, image, encoder, NULL, NULL).code, 0);
    assert_int_equal(heif_context_write_to_file(heif, io_path("a.heic")).code, 0);
    heif_image_release(image);
    heif_encoder_release(encoder);
    heif_context_free(heif);
    return io_path("a.heic");
}

/* Debian 13 has encoders in packages of their own (libheif-plugin-x265, libheif-plugin-aomenc). */
static void skip_without_encoder(void)
{
    puts("SKIPPED: libheif has no encoder here to make an image with");
    skip();
}

static void reads(enum heif_compression_format format)
{
    const int rows = 48;
    const char *path = make_heif(format, rows);
    image_info info;
    uint8_t *pixels;
    if (!path) skip_without_encoder();
    pixels = read_good(path, &info);
    assert_int_equal(info.rows, rows);
    assert_int_equal(info.cols, SIDE);
    assert_int_equal(info.channels, 3);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 3 * SIDE; i++)
            assert_in_range(pixels[r * 3 * SIDE + i] + CLOSE, value(r, i / 3, i % 3),
                            value(r, i / 3, i % 3) + 2 * CLOSE);
    free(pixels);
    const image_read_options limit = {.max_pixels = (size_t)rows * SIDE - 1};
    assert_int_equal(read_with(path, &limit, &info, &pixels), SSM2D_ERROR_UNSUPPORTED);
    assert_line("has 48 x 64 pixels, more than the 3071");
    assert_true(allocations_to_read(path) >= 3);
}

static void reads_heic(void **state)
{
    (void)state;
    reads(heif_compression_HEVC);
}

static void reads_avif(void **state)
{
    (void)state;
    reads(heif_compression_AV1);
}

static void refuses_damaged_files(void **state)
{
    (void)state;
    static uint8_t file[1 << 16];
    const int made = make_heif(heif_compression_HEVC, 48) || make_heif(heif_compression_AV1, 48);
    refused(io_put("b.heic",
                   "\0\0\0\x18"
                   "ftypheic\0\0\0\0mif1heic",
                   24),
            SSM2D_ERROR_ARGUMENT, "/b.heic: is a damaged HEIC/AVIF: ");
    if (!made) skip_without_encoder();
    FILE *f = fopen(io_path("a.heic"), "rb");
    const size_t size = fread(file, 1, sizeof file, f);
    fclose(f);
    assert_true(size > 100 && size < sizeof file);
    for (size_t cut = 12; cut < size / 2; cut += 7) {
        image_info info;
        uint8_t *pixels;
        io_put("b.heic", file, cut);
        assert_int_not_equal(read_with(io_path("b.heic"), &(image_read_options){0}, &info, &pixels),
                             SSM2D_OK);
        free(pixels);
    }
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_heic),
        TEST(reads_avif),
        TEST(refuses_damaged_files),
    };
    return cmocka_run_group_tests_name("image_heif", tests, io_setup, io_teardown);
}
