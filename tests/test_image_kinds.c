/* Images as people have them: turned by EXIF, CMYK, BMP, WebP and TIFF. The files are made here,
 * with the encoders of the libraries or by hand. */
#include "io_helpers.h"

#include "io/exif.h"
#include "io/image.h"

#include <jpeglib.h>
#include <spng.h>
#ifdef SSM2D_WEBP
#include <webp/encode.h>
#endif
#ifdef SSM2D_TIFF
#include <tiffio.h>
#endif

enum { ROWS = 5, COLS = 7 };

/* Sample c of the upright picture, which no turning leaves as it is. */
static uint8_t sample(size_t r, size_t c, int s) { return (uint8_t)(16 * r + c + 80 * (size_t)s); }

static ssm2d_status read_with(const char *path, const image_read_options *o, image_info *info,
                              uint8_t **pixels)
{
    image_reader *reader;
    *pixels = NULL;
    ssm2d_status status = image_open_with(context, path, o, &reader, info, &error);
    if (status) return status;
    const size_t row = image_row_bytes(info);
    *pixels = malloc(info->rows * row);
    for (size_t r = 0; r < info->rows && !status; r++)
        status = image_read_row(reader, *pixels + r * row, &error);
    image_close(reader);
    return status;
}

static uint8_t *read_good(const char *path, image_info *info)
{
    uint8_t *pixels;
    if (read_with(path, &(image_read_options){0}, info, &pixels)) fail_msg("%s", error.line);
    return pixels;
}

static void refused(const char *path, ssm2d_status status, const char *line)
{
    image_info info;
    uint8_t *pixels;
    assert_int_equal(read_with(path, &(image_read_options){0}, &info, &pixels), status);
    free(pixels);
    assert_line(line);
}

/* ---- EXIF ------------------------------------------------------------------------------------ */

/* An EXIF block whose only entry is the orientation. */
static size_t make_exif(uint8_t *out, int orientation, int big_endian)
{
    static const uint8_t little[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                     0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0};
    static const uint8_t big[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                  3,   0,   0, 0,  1, 0, 0, 0, 0, 0, 0, 0,    0};
    memcpy(out, big_endian ? big : little, sizeof little);
    out[big_endian ? 19 : 18] = (uint8_t)orientation;
    return sizeof little;
}

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

/* The pixel of the stored picture, R x C, at (r, c) of the upright one. */
static void stored_place(int orientation, size_t R, size_t C, size_t r, size_t c, size_t at[2])
{
    const size_t places[9][2] = {
        {0},    {r, c},         {r, C - 1 - c},         {R - 1 - r, C - 1 - c}, {R - 1 - r, c},
        {c, r}, {R - 1 - c, r}, {R - 1 - c, C - 1 - r}, {c, C - 1 - r}};
    memcpy(at, places[orientation], sizeof places[0]);
}

/* upright is what `stored` becomes. */
static void assert_turned(int orientation, const image_info *stored, const uint8_t *from,
                          const image_info *upright, const uint8_t *to)
{
    const size_t pixel = (size_t)stored->channels;
    assert_int_equal(upright->rows, orientation < 5 ? stored->rows : stored->cols);
    assert_int_equal(upright->cols, orientation < 5 ? stored->cols : stored->rows);
    assert_int_equal(upright->channels, stored->channels);
    for (size_t r = 0; r < upright->rows; r++)
        for (size_t c = 0; c < upright->cols; c++) {
            size_t at[2];
            stored_place(orientation, stored->rows, stored->cols, r, c, at);
            assert_memory_equal(to + (r * upright->cols + c) * pixel,
                                from + (at[0] * stored->cols + at[1]) * pixel, pixel);
        }
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

typedef struct jpeg_kind {
    J_COLOR_SPACE in, stored;
    int components, adobe, orientation;
} jpeg_kind;

static const char *make_jpeg(const char *name, const jpeg_kind *k, const uint8_t *constant)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t exif[64] = "Exif\0\0", row[COLS * 4];
    FILE *f = fopen(io_path(name), "wb");
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, f);
    jpeg.image_height = ROWS;
    jpeg.image_width = COLS;
    jpeg.input_components = k->components;
    jpeg.in_color_space = k->in;
    jpeg_set_defaults(&jpeg);
    jpeg_set_colorspace(&jpeg, k->stored);
    jpeg_set_quality(&jpeg, 100, TRUE);
    jpeg.write_Adobe_marker = k->adobe;
    jpeg_start_compress(&jpeg, TRUE);
    if (k->orientation)
        jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif,
                          (unsigned)make_exif(exif + 6, k->orientation, 0) + 6);
    for (size_t r = 0; r < ROWS; r++) {
        JSAMPROW rows[] = {row};
        for (size_t i = 0; i < COLS * (size_t)k->components; i++) {
            const size_t c = i / (size_t)k->components;
            const int s = (int)(i % (size_t)k->components);
            row[i] = constant ? constant[s] : sample(r, c, s);
        }
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(f);
    return io_path(name);
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

/* ---- CMYK ------------------------------------------------------------------------------------ */

/* Red of half ink and a quarter black: C 0, M Y 128, K 64. */
static void reads_cmyk(void **state)
{
    (void)state;
    static const uint8_t ink[] = {0, 128, 128, 64}, inverted[] = {255, 127, 127, 191};
    static const int expected[] = {191, 95, 95}; /* 255 * 191 / 255, 127 * 191 / 255 */
    const jpeg_kind kinds[] = {{JCS_CMYK, JCS_CMYK, 4, 0, 0},
                               {JCS_CMYK, JCS_CMYK, 4, 1, 0},
                               {JCS_CMYK, JCS_YCCK, 4, 1, 0}};
    for (int i = 0; i < 3; i++)
        for (int exact = 0; exact < 2; exact++) {
            image_info info;
            uint8_t *pixels;
            const image_read_options o = {.exact = exact};
            const char *path = make_jpeg("a.jpg", &kinds[i], kinds[i].adobe ? inverted : ink);
            if (read_with(path, &o, &info, &pixels)) fail_msg("%s", error.line);
            assert_int_equal(info.channels, 3);
            assert_int_equal(info.rows, ROWS);
            for (size_t k = 0; k < ROWS * COLS * 3; k++)
                assert_in_range(pixels[k] - expected[k % 3] + 3, 0, 6);
            free(pixels);
        }
}

/* ---- BMP ------------------------------------------------------------------------------------- */

static void put(uint8_t **at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *(*at)++ = (uint8_t)(value >> 8 * i);
}

typedef struct bmp_kind {
    int bits, top_down, os2, masks, description;
} bmp_kind;

/* What a pixel becomes: colours of fewer bits are those that the test stores. */
static void bmp_colour(const bmp_kind *k, size_t r, size_t c, uint8_t out[3])
{
    if (k->bits <= 8) {
        const unsigned i = (unsigned)(r * COLS + c) % (1u << k->bits);
        out[0] = (uint8_t)(i * 3 + 1), out[1] = (uint8_t)(i * 5), out[2] = (uint8_t)(255 - i);
        return;
    }
    for (int s = 0; s < 3; s++) out[s] = sample(r, c, s);
    if (k->bits == 16) /* 5 bits each, rounded up again */
        for (int s = 0; s < 3; s++) out[s] = (uint8_t)(((out[s] >> 3) * 255 + 15) / 31);
}

static size_t make_bmp(uint8_t *file, const bmp_kind *k)
{
    const uint32_t description = k->os2 ? 12 : k->description ? (uint32_t)k->description : 40;
    const uint32_t palette = k->bits <= 8 ? (1u << k->bits) * (k->os2 ? 3 : 4) : 0;
    const uint32_t masks = k->masks && description == 40 ? 12 : 0;
    const uint32_t start = 14 + description + masks + palette + 2; /* a gap of two bytes */
    uint8_t *at = file;
    put(&at, 'B' | 'M' << 8, 2), put(&at, 0, 4), put(&at, 0, 4), put(&at, start, 4);
    put(&at, description, 4);
    if (k->os2) {
        put(&at, COLS, 2), put(&at, ROWS, 2), put(&at, 1, 2), put(&at, (uint32_t)k->bits, 2);
    } else {
        put(&at, COLS, 4), put(&at, k->top_down ? (uint32_t)-ROWS : ROWS, 4), put(&at, 1, 2);
        put(&at, (uint32_t)k->bits, 2), put(&at, k->masks ? 3 : 0, 4);
        for (int i = 0; i < 5; i++) put(&at, 0, 4);
    }
    if (k->masks) {
        put(&at, 0xff, 4), put(&at, 0xff00, 4), put(&at, 0xff0000, 4);
        if (description > 52) put(&at, 0xff000000, 4);
    }
    at = file + 14 + description + masks;
    for (unsigned i = 0; palette && i < 1u << k->bits; i++) {
        put(&at, 255 - i, 1), put(&at, i * 5, 1), put(&at, i * 3 + 1, 1);
        if (!k->os2) put(&at, 0, 1);
    }
    at += 2;
    for (size_t line = 0; line < ROWS; line++) {
        const size_t r = k->top_down ? line : ROWS - 1 - line;
        uint8_t row[64] = {0}, *to = row;
        for (size_t c = 0; c < COLS; c++) {
            const unsigned i = (unsigned)(r * COLS + c);
            const uint32_t red = sample(r, c, 0), green = sample(r, c, 1), blue = sample(r, c, 2);
            if (k->bits <= 8)
                row[c * (size_t)k->bits / 8] |=
                    (uint8_t)(i % (1u << k->bits) << (8 - k->bits - (int)(c * k->bits % 8)));
            else if (k->bits == 16)
                put(&to, red >> 3 << 10 | green >> 3 << 5 | blue >> 3, 2);
            else if (k->masks)
                put(&to, red | green << 8 | blue << 16 | 0xffu << 24, 4);
            else
                put(&to, blue | green << 8 | red << 16, k->bits / 8);
        }
        const size_t bytes = (COLS * (size_t)k->bits + 31) / 32 * 4;
        memcpy(at, row, bytes);
        at += bytes;
    }
    return (size_t)(at - file);
}

static void reads_bmps(void **state)
{
    (void)state;
    static const bmp_kind kinds[] = {{1},
                                     {4},
                                     {8},
                                     {16},
                                     {24},
                                     {32},
                                     {24, 1},
                                     {8, 0, 1},
                                     {24, 0, 1},
                                     {32, 0, 0, 1},
                                     {32, 0, 0, 1, 108},
                                     {32, 1, 0, 1, 124}};
    uint8_t file[4096];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        image_info info;
        memset(file, 0, sizeof file);
        const size_t size = make_bmp(file, &kinds[i]);
        uint8_t *pixels = read_good(io_put("a.bmp", file, size), &info);
        assert_int_equal(info.rows, ROWS);
        assert_int_equal(info.cols, COLS);
        assert_int_equal(info.channels, 3);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < COLS; c++) {
                uint8_t expected[3];
                bmp_colour(&kinds[i], r, c, expected);
                assert_memory_equal(pixels + (r * COLS + c) * 3, expected, 3);
            }
        free(pixels);
        for (size_t cut = 1; cut < size; cut += 3) {
            io_put("a.bmp", file, cut);
            assert_int_not_equal(
                read_with(io_path("a.bmp"), &(image_read_options){0}, &info, &pixels), SSM2D_OK);
            free(pixels);
        }
    }
}

static void refuses_bad_bmps(void **state)
{
    (void)state;
    uint8_t file[4096] = {0};
    const bmp_kind k = {24};
    const size_t size = make_bmp(file, &k);
    file[30] = 1; /* run lengths */
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_UNSUPPORTED, "compression 1: save it as PNG");
    file[30] = 0;
    file[10] = 20; /* pixels within the header */
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_ARGUMENT, "pixels at byte 20");
    make_bmp(file, &k);
    memset(file + 18, 0, 4);
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_ARGUMENT, "is a damaged BMP of 5 x 0 pixels");
    make_bmp(file, &k);
    memset(file + 22, 0x7f, 4); /* rows that the file does not have, and that nothing is kept for */
    image_info info;
    uint8_t *pixels;
    const image_read_options limit = {.max_pixels = 1000};
    assert_int_equal(read_with(io_put("a.bmp", file, size), &limit, &info, &pixels),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_line("more than the 1000 that max-pixels allows");
    file[14] = 13;
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_ARGUMENT, "is no BMP that is known");
}

/* ---- WebP ------------------------------------------------------------------------------------ */

#ifdef SSM2D_WEBP
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
        /* lossless WebP leaves colours alone unless they are invisible */
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
#endif

/* ---- TIFF ------------------------------------------------------------------------------------ */

#ifdef SSM2D_TIFF
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
#endif

/* ---- all kinds ------------------------------------------------------------------------------- */

static void knows_names(void **state)
{
    (void)state;
    static const char *const good[] = {"a.png", "a.PNG", "b.c.jpeg", "x.Jpg", "x.bmp"};
    static const char *const bad[] = {"png", "a.pngx", "a.pn", "a.", "a", "a.txt", "a.png,", "*"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(image_named(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(image_named(bad[i]));
#ifdef SSM2D_TIFF
    assert_true(image_named("a.tif") && image_named("a.tiff"));
    assert_non_null(strstr(image_kinds(), "TIFF"));
#else
    assert_false(image_named("a.tif"));
#endif
#ifdef SSM2D_WEBP
    assert_true(image_named("a.webp"));
    assert_non_null(strstr(image_kinds(), "WebP"));
#else
    assert_false(image_named("a.webp"));
    refused(io_put("a.webp", "RIFF", 4), SSM2D_ERROR_UNSUPPORTED, "which this ssm2d was built");
#endif
    refused(io_put("a.gif", "GIF89a", 6), SSM2D_ERROR_UNSUPPORTED,
            "/a.gif: is not an image of a kind that can be read: PNG, JPEG, BMP");
}

static char tried[512];

static ssm2d_status try_reading(void)
{
    image_info info;
    uint8_t *pixels;
    ssm2d_status status = read_with(tried, &(image_read_options){0}, &info, &pixels);
    free(pixels);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    uint8_t file[4096] = {0};
    const bmp_kind k = {24};
    const jpeg_kind j = {JCS_CMYK, JCS_CMYK, 4, 0, 6};
    strcpy(tried, io_put("a.bmp", file, make_bmp(file, &k)));
    assert_true(io_fail_everywhere(try_reading) >= 5);
    strcpy(tried, make_jpeg("a.jpg", &j, NULL));
    assert_true(io_fail_everywhere(try_reading) >= 4);
    strcpy(tried, make_png("a.png", 8));
    assert_true(io_fail_everywhere(try_reading) >= 4);
#ifdef SSM2D_WEBP
    strcpy(tried, io_put("a.webp", file, make_webp(file, 6)));
    assert_true(io_fail_everywhere(try_reading) >= 5);
#endif
#ifdef SSM2D_TIFF
    const tiff_kind t = {8, 3, 6, 0, 0};
    strcpy(tried, make_tiff("a.tif", &t));
    assert_true(io_fail_everywhere(try_reading) >= 5);
#endif
}

#define TEST(name) cmocka_unit_test_setup(name, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_exif),  TEST(turns_pngs),
        TEST(turns_jpegs), TEST(reads_cmyk),
        TEST(reads_bmps),  TEST(refuses_bad_bmps),
#ifdef SSM2D_WEBP
        TEST(reads_webp),
#endif
#ifdef SSM2D_TIFF
        TEST(reads_tiffs), TEST(refuses_bad_tiffs),
#endif
        TEST(knows_names), TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_kinds", tests, io_setup, io_teardown);
}
