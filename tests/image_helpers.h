/* image_helpers - for the tests of PNG and JPEG: files of every kind, made with the encoders of the
 * libraries, and whole images read and written. */
#ifndef SSM2D_TESTS_IMAGE_HELPERS_H
#define SSM2D_TESTS_IMAGE_HELPERS_H

#include "io_helpers.h"

#include "io/image.h"

#include <jpeglib.h>
#include <spng.h>

enum { ROWS = 37, COLS = 29 };

/* Sample c of a pixel, from 0 to max. */
static inline unsigned sample(size_t row, size_t col, int c, unsigned max)
{
    uint32_t x = (uint32_t)(row * 2654435761u + col * 40503u * 7 + (unsigned)c * 97u);
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return max == 1 ? (x >> 8) & 1 : (x >> 4) % (max + 1);
}

typedef struct png_kind {
    int color, depth, samples, trns, interlaced;
} png_kind;

static inline unsigned most_of(const png_kind *k) { return (1u << k->depth) - 1; }

static inline void make_palette(const png_kind *k, struct spng_plte *palette,
                                struct spng_trns *trns)
{
    memset(palette, 0, sizeof *palette);
    memset(trns, 0, sizeof *trns);
    palette->n_entries = most_of(k) + 1;
    for (unsigned i = 0; i < palette->n_entries; i++) {
        palette->entries[i].red = (uint8_t)sample(i, 1, 0, 255);
        palette->entries[i].green = (uint8_t)sample(i, 1, 1, 255);
        palette->entries[i].blue = (uint8_t)sample(i, 1, 2, 255);
        trns->type3_alpha[i] = (uint8_t)sample(i, 1, 3, 255);
    }
    trns->n_type3_entries = palette->n_entries - (palette->n_entries > 2); /* the last one opaque */
}

/* The key colour is that of pixel (3, 5). */
static inline struct spng_trns make_key(const png_kind *k)
{
    struct spng_trns trns = {0};
    trns.gray = trns.red = (uint16_t)sample(3, 5, 0, most_of(k));
    trns.green = (uint16_t)sample(3, 5, 1, most_of(k));
    trns.blue = (uint16_t)sample(3, 5, 2, most_of(k));
    return trns;
}

static inline const char *make_png(const char *name, const png_kind *k, size_t rows, size_t cols)
{
    size_t row_bytes = (cols * (size_t)(k->samples * k->depth) + 7) / 8;
    uint8_t *pixels = calloc(rows, row_bytes);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            for (int s = 0; s < k->samples; s++) {
                unsigned value = sample(r, c, s, most_of(k));
                size_t i = c * (size_t)k->samples + (size_t)s, bit = i * (size_t)k->depth;
                if (k->depth == 16) {
                    uint16_t wide = (uint16_t)value;
                    memcpy(pixels + r * row_bytes + 2 * i, &wide, 2);
                } else
                    pixels[r * row_bytes + bit / 8] |=
                        (uint8_t)(value << (8 - k->depth - (int)(bit % 8)));
            }
    struct spng_ihdr header = {.width = (uint32_t)cols,
                               .height = (uint32_t)rows,
                               .bit_depth = (uint8_t)k->depth,
                               .color_type = (uint8_t)k->color,
                               .interlace_method = (uint8_t)k->interlaced};
    FILE *f = fopen(io_path(name), "wb");
    assert_non_null(f);
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    assert_int_equal(spng_set_png_file(png, f), 0);
    assert_int_equal(spng_set_ihdr(png, &header), 0);
    if (k->color == SPNG_COLOR_TYPE_INDEXED) {
        struct spng_plte palette;
        struct spng_trns trns;
        make_palette(k, &palette, &trns);
        assert_int_equal(spng_set_plte(png, &palette), 0);
        if (k->trns) assert_int_equal(spng_set_trns(png, &trns), 0);
    } else if (k->trns) {
        struct spng_trns trns = make_key(k);
        assert_int_equal(spng_set_trns(png, &trns), 0);
    }
    assert_int_equal(
        spng_encode_image(png, pixels, rows * row_bytes, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE), 0);
    spng_ctx_free(png);
    fclose(f);
    free(pixels);
    return io_path(name);
}

typedef struct jpeg_kind {
    int channels, progressive, restart, fine; /* fine: without chroma subsampling */
} jpeg_kind;

static inline uint8_t smooth(size_t row, size_t col, int c)
{
    return (uint8_t)(40 + 2 * row + (c == 1 ? 2 * col : c == 2 ? 120 - 2 * col : 0));
}

static inline const char *make_jpeg(const char *name, const jpeg_kind *k, size_t rows, size_t cols)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(io_path(name), "wb");
    assert_non_null(f);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, f);
    jpeg.image_height = (JDIMENSION)rows;
    jpeg.image_width = (JDIMENSION)cols;
    jpeg.input_components = k->channels;
    jpeg.in_color_space = k->channels == 1 ? JCS_GRAYSCALE : k->channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 98, TRUE);
    if (k->fine) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    if (k->progressive) jpeg_simple_progression(&jpeg);
    jpeg.restart_in_rows = k->restart;
    jpeg_start_compress(&jpeg, TRUE);
    uint8_t *row = malloc(cols * (size_t)k->channels);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < cols * (size_t)k->channels; i++)
            row[i] =
                smooth(r % ROWS, i / (size_t)k->channels % COLS, (int)(i % (size_t)k->channels));
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    free(row);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(f);
    return io_path(name);
}

/* Reads all rows into *pixels (to be freed, also on failure). */
static inline ssm2d_status read_all(const char *path, image_info *info, uint8_t **pixels)
{
    image_reader *reader;
    *pixels = NULL;
    *info = (image_info){0};
    ssm2d_status status = image_open(context, path, NULL, &reader, info, &error);
    if (status) {
        assert_null(reader);
        return status;
    }
    size_t row_bytes = info->cols * (size_t)info->channels;
    uint8_t *row = malloc(row_bytes);
    *pixels = malloc(info->rows * row_bytes);
    for (size_t r = 0; r < info->rows && !status; r++) {
        status = image_read_row(reader, row, &error);
        if (!status) memcpy(*pixels + r * row_bytes, row, row_bytes);
    }
    ssm2d_error after;
    /* past the last row, or past a bad one */
    assert_int_equal(image_read_row(reader, row, &after), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(after.line, status ? "cannot be read beyond row" : "has no more than"));
    free(row);
    image_close(reader);
    return status;
}

static inline ssm2d_status write_all(const char *path, size_t rows, size_t cols, int channels)
{
    image_writer *writer;
    image_info info = {rows, cols, channels};
    ssm2d_status status = image_create(context, path, &info, NULL, &writer, &error);
    if (status) return status;
    uint8_t *row = malloc(cols * (size_t)channels);
    for (size_t r = 0; r < rows && !status; r++) {
        for (size_t i = 0; i < cols * (size_t)channels; i++)
            row[i] = (uint8_t)sample(r, i / (size_t)channels, (int)(i % (size_t)channels), 255);
        status = image_write_row(writer, row, &error);
    }
    free(row);
    if (!status) return image_finish(writer, &error);
    image_abandon(writer);
    return status;
}

#endif
