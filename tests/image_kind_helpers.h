/* image_kind_helpers - for the tests of less common image files, rotated by EXIF, CMYK, BMP, WebP
 * and TIFF: a small picture, its EXIF orientations, and files that are read or refused. */
#ifndef SSM2D_TESTS_IMAGE_KIND_HELPERS_H
#define SSM2D_TESTS_IMAGE_KIND_HELPERS_H

#include "io_helpers.h"

#include "io/image.h"

#include <jpeglib.h>

enum { ROWS = 5, COLS = 7 };

/* Sample c of the upright picture, which every rotation and reflection changes. */
static inline uint8_t sample(size_t r, size_t c, int s)
{
    return (uint8_t)(16 * r + c + 80 * (size_t)s);
}

static inline ssm2d_status read_with(const char *path, const image_read_options *o,
                                     image_info *info, uint8_t **pixels)
{
    image_reader *reader;
    *pixels = NULL;
    ssm2d_status status = image_open(context, path, o, &reader, info, &error);
    if (status) return status;
    const size_t row = image_row_bytes(info);
    *pixels = malloc(info->rows * row);
    for (size_t r = 0; r < info->rows && !status; r++)
        status = image_read_row(reader, *pixels + r * row, &error);
    image_close(reader);
    return status;
}

static inline uint8_t *read_good(const char *path, image_info *info)
{
    uint8_t *pixels;
    if (read_with(path, &(image_read_options){0}, info, &pixels)) fail_msg("%s", error.line);
    return pixels;
}

static inline void refused(const char *path, ssm2d_status status, const char *line)
{
    image_info info;
    uint8_t *pixels;
    assert_int_equal(read_with(path, &(image_read_options){0}, &info, &pixels), status);
    free(pixels);
    assert_line(line);
}

static char tried[512];

static inline ssm2d_status try_reading(void)
{
    image_info info;
    uint8_t *pixels;
    ssm2d_status status = read_with(tried, &(image_read_options){0}, &info, &pixels);
    free(pixels);
    return status;
}

/* Reads the file with each allocation failing in turn; returns the number of allocations. */
static inline long allocations_to_read(const char *path)
{
    strcpy(tried, path);
    return io_fail_everywhere(try_reading);
}

/* Appends an integer, least significant byte first. */
static inline void put(uint8_t **at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *(*at)++ = (uint8_t)(value >> 8 * i);
}

/* An EXIF block whose only entry is the orientation. */
static inline size_t make_exif(uint8_t *out, int orientation, int big_endian)
{
    static const uint8_t little[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                     0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0};
    static const uint8_t big[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                  3,   0,   0, 0,  1, 0, 0, 0, 0, 0, 0, 0,    0};
    memcpy(out, big_endian ? big : little, sizeof little);
    out[big_endian ? 19 : 18] = (uint8_t)orientation;
    return sizeof little;
}

/* The pixel of the stored picture, R x C, that is at (r, c) of the upright one. */
static inline void stored_place(int orientation, size_t R, size_t C, size_t r, size_t c,
                                size_t at[2])
{
    const size_t places[9][2] = {
        {0},    {r, c},         {r, C - 1 - c},         {R - 1 - r, C - 1 - c}, {R - 1 - r, c},
        {c, r}, {R - 1 - c, r}, {R - 1 - c, C - 1 - r}, {c, C - 1 - r}};
    memcpy(at, places[orientation], sizeof places[0]);
}

/* upright is what `stored` becomes. */
static inline void assert_turned(int orientation, const image_info *stored, const uint8_t *from,
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

typedef struct jpeg_kind {
    J_COLOR_SPACE in, stored;
    int components, adobe, orientation;
} jpeg_kind;

/* The picture, or one colour everywhere. */
static inline const char *make_jpeg(const char *name, const jpeg_kind *k, const uint8_t *constant)
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

#endif
