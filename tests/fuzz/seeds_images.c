/* seeds_images - images of every kind. */
#include "seeds.h"

#include <stdio.h>

#include <jpeglib.h>
#include <spng.h>
#include <string.h>
#ifdef SSM2D_WEBP
#include <webp/encode.h>
#endif
#ifdef SSM2D_TIFF
#include <tiffio.h>
#endif
#ifdef SSM2D_GIF
#include <gif_lib.h>
#endif
#ifdef SSM2D_HEIF
#include <libheif/heif.h>
#endif

/* An orientation of 6. */
static const unsigned char exif[] = {'E',  'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0,
                                     0x12, 1,   3,   0,   1, 0, 0,   0,   6,  0, 0, 0, 0, 0, 0, 0};

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
    if (progressive) jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof exif);
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

/* A BMP of 5 x 3 pixels. */
static void seed_bmp(int number, int bits)
{
    uint8_t file[54 + 1024 + 3 * 20] = "BM";
    const int palette = bits <= 8 ? 4 << bits : 0, row = (5 * bits + 31) / 32 * 4;
    file[10] = (uint8_t)(54 + palette);
    file[11] = (uint8_t)((54 + palette) >> 8);
    file[14] = 40;
    file[18] = 5;
    file[22] = 3;
    file[26] = 1;
    file[28] = (uint8_t)bits;
    for (int i = 54; i < 54 + palette + 3 * row; i++) file[i] = (uint8_t)(i * 7);
    seed_put("image", number, file, (size_t)(54 + palette + 3 * row));
}

#ifdef SSM2D_WEBP
static void seed_webp(int number, int lossless)
{
    uint8_t rgba[9 * 7 * 4], *coded = NULL;
    for (size_t i = 0; i < sizeof rgba; i++) rgba[i] = (uint8_t)(i * 5);
    const size_t size = lossless ? WebPEncodeLosslessRGBA(rgba, 9, 7, 36, &coded)
                                 : WebPEncodeRGBA(rgba, 9, 7, 36, 50, &coded);
    check(!size);
    seed_put("image", number, coded, size);
    WebPFree(coded);
}
#endif

#ifdef SSM2D_TIFF
static void seed_tiff(int number, int bits, int samples, int packed)
{
    uint8_t row[9 * 4 * 2];
    TIFF *t = TIFFOpen(seed_path("image", number), "w");
    check(!t);
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, 9);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, 7);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, samples);
    TIFFSetField(t, TIFFTAG_ORIENTATION, packed ? 6 : 1);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, samples < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_COMPRESSION, packed ? COMPRESSION_LZW : COMPRESSION_NONE);
    for (size_t i = 0; i < sizeof row; i++) row[i] = (uint8_t)(i * 3);
    for (uint32_t r = 0; r < 7; r++) check(TIFFWriteScanline(t, row, r, 0) != 1);
    TIFFClose(t);
}
#endif

#ifdef SSM2D_GIF
/* A transparent picture that does not cover the screen. */
static void seed_gif(int number, int interlaced)
{
    GifColorType colours[4] = {{1, 2, 3}, {250, 150, 50}, {0, 255, 0}, {9, 9, 9}};
    ColorMapObject *map = GifMakeMapObject(4, colours);
    const GifByteType control[] = {1, 0, 0, 2};
    GifByteType row[9];
    int code;
    GifFileType *gif = EGifOpenFileName(seed_path("image", number), false, &code);
    check(!map || !gif || EGifPutScreenDesc(gif, 9, 7, 8, 0, map) != GIF_OK
          || EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, sizeof control, control) != GIF_OK
          || EGifPutImageDesc(gif, 1, 2, 8, 5, interlaced, NULL) != GIF_OK);
    for (int r = 0; r < 5; r++) {
        for (int c = 0; c < 8; c++) row[c] = (GifByteType)((r + c) % 4);
        check(EGifPutLine(gif, row, 8) != GIF_OK);
    }
    check(EGifCloseFile(gif, &code) != GIF_OK);
    GifFreeMapObject(map);
}
#endif

#ifdef SSM2D_HEIF
/* Without an encoder there is no seed. */
static void seed_heif(int *number, enum heif_compression_format format)
{
    struct heif_context *heif = heif_context_alloc();
    struct heif_encoder *encoder = NULL;
    struct heif_image *image = NULL;
    int stride;
    if (!heif_context_get_encoder_for_format(heif, format, &encoder).code) {
        check(
            heif_image_create(64, 64, heif_colorspace_RGB, heif_chroma_interleaved_RGB, &image).code
            || heif_image_add_plane(image, heif_channel_interleaved, 64, 64, 8).code);
        uint8_t *pixels = heif_image_get_plane(image, heif_channel_interleaved, &stride);
        for (int r = 0; r < 64; r++)
            for (int i = 0; i < 3 * 64; i++) pixels[r * stride + i] = (uint8_t)(r * i);
        check(heif_context_encode_image(heif, image, encoder, NULL, NULL).code
              || heif_context_write_to_file(heif, seed_path("image", (*number)++)).code);
        heif_image_release(image);
        heif_encoder_release(encoder);
    }
    heif_context_free(heif);
}
#endif

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
    for (int bits = 1; bits <= 32; bits *= 2)
        if (bits != 2) seed_bmp(number++, bits);
    seed_bmp(number++, 24);
#ifdef SSM2D_WEBP
    for (int lossless = 0; lossless < 2; lossless++) seed_webp(number++, lossless);
#endif
#ifdef SSM2D_TIFF
    static const int tiffs[][3] = {{8, 1, 0}, {8, 3, 1}, {16, 1, 1}, {16, 3, 0}, {8, 4, 1}};
    for (size_t i = 0; i < sizeof tiffs / sizeof *tiffs; i++)
        seed_tiff(number++, tiffs[i][0], tiffs[i][1], tiffs[i][2]);
#endif
#ifdef SSM2D_GIF
    for (int interlaced = 0; interlaced < 2; interlaced++) seed_gif(number++, interlaced);
#endif
#ifdef SSM2D_HEIF
    seed_heif(&number, heif_compression_HEVC);
    seed_heif(&number, heif_compression_AV1);
#endif
}
