/* seeds_images - PNG and JPEG of every kind. */
#include "seeds.h"

#include <stdio.h>

#include <jpeglib.h>
#include <spng.h>

static void seed_png(int number, int color, int depth, int samples, int interlaced)
{
    uint8_t pixels[7 * 9 * 8] = {0};
    size_t row_bytes = (size_t)(9 * samples * depth + 7) / 8;
    struct spng_ihdr header = {9, 7, (uint8_t)depth, (uint8_t)color, 0, 0, (uint8_t)interlaced};
    struct spng_plte palette = {.n_entries = 2, .entries = {{1, 2, 3, 0}, {250, 150, 50, 0}}};
    struct spng_trns trns = {.n_type3_entries = 1, .type3_alpha = {100}};
    for (size_t i = 0; i < 7 * row_bytes; i++)
        pixels[i] = (uint8_t)(color == SPNG_COLOR_TYPE_INDEXED ? i % 2 : i * 37);
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    FILE *f = fopen(seed_path("image", number), "wb");
    int bad = !f || !png || spng_set_png_file(png, f) || spng_set_ihdr(png, &header);
    if (!bad && color == SPNG_COLOR_TYPE_INDEXED) bad = spng_set_plte(png, &palette);
    if (!bad && samples % 2) bad = spng_set_trns(png, &trns);
    check(bad || spng_encode_image(png, pixels, 7 * row_bytes, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));
    spng_ctx_free(png);
    fclose(f);
}

static void seed_jpeg(int number, int channels, int progressive)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(seed_path("image", number), "wb");
    check(!f);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, f);
    jpeg.image_height = 17;
    jpeg.image_width = 9;
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    if (progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int r = 0; r < 17; r++) {
        uint8_t row[9 * 4];
        JSAMPROW rows[] = {row};
        for (int i = 0; i < 9 * channels; i++) row[i] = (uint8_t)(r * 12 + i);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(f);
}

void seed_images(void)
{
    static const int kinds[][3] = {{0, 1, 1}, {0, 8, 1}, {0, 16, 1}, {2, 8, 3}, {2, 16, 3},
                                   {3, 4, 1}, {3, 8, 1}, {4, 8, 2},  {6, 8, 4}, {6, 16, 4}};
    int number = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int interlaced = 0; interlaced < 2; interlaced++)
            seed_png(number++, kinds[i][0], kinds[i][1], kinds[i][2], interlaced);
    for (int channels = 1; channels <= 4; channels++)
        for (int progressive = 0; channels != 2 && progressive < 2; progressive++)
            seed_jpeg(number++, channels, progressive);
}
