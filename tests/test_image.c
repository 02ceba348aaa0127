/* PNG and JPEG, in and out. The files are made here, with the encoders of the libraries. */
#include "io_helpers.h"

#include "io/image.h"

#include <jpeglib.h>
#include <malloc.h>
#include <spng.h>

enum { ROWS = 37, COLS = 29 };

/* ---- making files ---------------------------------------------------------------------------- */

/* Sample c of a pixel, from 0 to most. */
static unsigned sample(size_t row, size_t col, int c, unsigned most)
{
    uint32_t x = (uint32_t)(row * 2654435761u + col * 40503u * 7 + (unsigned)c * 97u);
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return most == 1 ? (x >> 8) & 1 : (x >> 4) % (most + 1);
}

typedef struct png_kind {
    int color, depth, samples, trns, interlaced;
} png_kind;

static const int every_kind[][3] = {
    /* colour type, bits, samples */
    {SPNG_COLOR_TYPE_GRAYSCALE, 1, 1},        {SPNG_COLOR_TYPE_GRAYSCALE, 2, 1},
    {SPNG_COLOR_TYPE_GRAYSCALE, 4, 1},        {SPNG_COLOR_TYPE_GRAYSCALE, 8, 1},
    {SPNG_COLOR_TYPE_GRAYSCALE, 16, 1},       {SPNG_COLOR_TYPE_TRUECOLOR, 8, 3},
    {SPNG_COLOR_TYPE_TRUECOLOR, 16, 3},       {SPNG_COLOR_TYPE_INDEXED, 1, 1},
    {SPNG_COLOR_TYPE_INDEXED, 2, 1},          {SPNG_COLOR_TYPE_INDEXED, 4, 1},
    {SPNG_COLOR_TYPE_INDEXED, 8, 1},          {SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, 8, 2},
    {SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, 16, 2}, {SPNG_COLOR_TYPE_TRUECOLOR_ALPHA, 8, 4},
    {SPNG_COLOR_TYPE_TRUECOLOR_ALPHA, 16, 4},
};
enum { KINDS = sizeof every_kind / sizeof *every_kind };

static unsigned most_of(const png_kind *k) { return (1u << k->depth) - 1; }

static void make_palette(const png_kind *k, struct spng_plte *palette, struct spng_trns *trns)
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
static struct spng_trns make_key(const png_kind *k)
{
    struct spng_trns trns = {0};
    trns.gray = trns.red = (uint16_t)sample(3, 5, 0, most_of(k));
    trns.green = (uint16_t)sample(3, 5, 1, most_of(k));
    trns.blue = (uint16_t)sample(3, 5, 2, most_of(k));
    return trns;
}

static const char *make_png(const char *name, const png_kind *k, size_t rows, size_t cols)
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

/* What channel c of a pixel must come out as, reckoned in real numbers. */
static int expected_png(const png_kind *k, size_t row, size_t col, int c)
{
    double most = most_of(k), alpha = 1, value;
    if (k->color == SPNG_COLOR_TYPE_INDEXED) {
        struct spng_plte palette;
        struct spng_trns trns;
        make_palette(k, &palette, &trns);
        unsigned i = sample(row, col, 0, most_of(k));
        value = (c == 0   ? palette.entries[i].red
                 : c == 1 ? palette.entries[i].green
                          : palette.entries[i].blue)
                / 255.0;
        if (k->trns && i < trns.n_type3_entries) alpha = trns.type3_alpha[i] / 255.0;
    } else {
        value = sample(row, col, c, most_of(k)) / most;
        if (k->samples % 2 == 0) alpha = sample(row, col, k->samples - 1, most_of(k)) / most;
        int same = 1;
        for (int s = 0; s < k->samples; s++)
            same &= sample(row, col, s, most_of(k)) == sample(3, 5, s, most_of(k));
        if (k->trns && same) alpha = 0;
    }
    return (int)(255 * (value * alpha + 1 - alpha) + 0.5);
}

static uint32_t crc(const unsigned char *bytes, size_t size)
{
    uint32_t c = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        c ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >> 1) : c >> 1;
    }
    return ~c;
}

static void put32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Changes what the header says, with a checksum that agrees. */
static const char *lie(const char *name, uint32_t rows, uint32_t cols, int interlaced)
{
    png_kind k = {SPNG_COLOR_TYPE_TRUECOLOR, 8, 3, 0, interlaced};
    size_t size;
    unsigned char *bytes = io_get(make_png(name, &k, ROWS, COLS), &size);
    put32(bytes + 16, cols);
    put32(bytes + 20, rows);
    put32(bytes + 29, crc(bytes + 12, 17));
    io_put(name, bytes, size);
    free(bytes);
    return io_path(name);
}

typedef struct jpeg_kind {
    int channels, progressive, restart, fine; /* fine: colours are not sampled down */
} jpeg_kind;

static uint8_t smooth(size_t row, size_t col, int c)
{
    return (uint8_t)(40 + 2 * row + (c == 1 ? 2 * col : c == 2 ? 120 - 2 * col : 0));
}

static const char *make_jpeg(const char *name, const jpeg_kind *k, size_t rows, size_t cols)
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

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads all rows into *pixels (to be freed, also on failure). */
static ssm2d_status read_all(const char *path, image_info *info, uint8_t **pixels)
{
    image_reader *reader;
    *pixels = NULL;
    *info = (image_info){0};
    ssm2d_status status = image_open(context, path, &reader, info, &error);
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
    /* past the last, or past a bad one */
    assert_int_equal(image_read_row(reader, row, &after), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(after.line, status ? "cannot be read beyond row" : "has no more than"));
    free(row);
    image_close(reader);
    return status;
}

static void reads_every_png(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++)
        for (int interlaced = 0; interlaced < 2; interlaced++)
            for (int trns = 0; trns < 2; trns++) {
                png_kind k = {every_kind[i][0], every_kind[i][1], every_kind[i][2], trns,
                              interlaced};
                if (trns && k.samples % 2 == 0) continue; /* has alpha already */
                image_info info;
                uint8_t *pixels;
                if (read_all(make_png("a.png", &k, ROWS, COLS), &info, &pixels))
                    fail_msg("colour %d depth %d: %s", k.color, k.depth, error.line);
                assert_int_equal(info.rows, ROWS);
                assert_int_equal(info.cols, COLS);
                assert_int_equal(info.channels, k.color == SPNG_COLOR_TYPE_INDEXED ? 3
                                                : k.samples < 3                    ? 1
                                                                                   : 3);
                for (size_t r = 0; r < ROWS; r++)
                    for (size_t c = 0; c < COLS; c++)
                        for (int s = 0; s < info.channels; s++) {
                            int got = pixels[(r * COLS + c) * (size_t)info.channels + (size_t)s];
                            if (got != expected_png(&k, r, c, s))
                                fail_msg("colour %d depth %d trns %d interlaced %d: (%zu, %zu, %d) "
                                         "is %d, not %d",
                                         k.color, k.depth, trns, interlaced, r, c, s, got,
                                         expected_png(&k, r, c, s));
                        }
                free(pixels);
            }
}

static void reads_the_smallest(void **state)
{
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        png_kind k = {SPNG_COLOR_TYPE_GRAYSCALE, 8, 1, 0, interlaced};
        image_info info;
        uint8_t *pixels;
        assert_int_equal(read_all(make_png("a.png", &k, 1, 1), &info, &pixels), SSM2D_OK);
        assert_int_equal(pixels[0], sample(0, 0, 0, 255));
        free(pixels);
    }
    jpeg_kind j = {3, 0, 0, 0};
    image_info info;
    uint8_t *pixels;
    assert_int_equal(read_all(make_jpeg("a.jpg", &j, 1, 1), &info, &pixels), SSM2D_OK);
    free(pixels);
}

static void reads_jpegs(void **state)
{
    (void)state;
    static const jpeg_kind kinds[] = {{1, 0, 0, 0}, {3, 0, 0, 1}, {3, 0, 0, 0},
                                      {1, 1, 0, 0}, {3, 1, 0, 0}, {3, 0, 1, 0}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        image_info info;
        uint8_t *pixels;
        assert_int_equal(read_all(make_jpeg("picture", &kinds[i], ROWS, COLS), &info, &pixels),
                         SSM2D_OK);
        assert_int_equal(info.rows, ROWS);
        assert_int_equal(info.cols, COLS);
        assert_int_equal(info.channels, kinds[i].channels);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < COLS; c++)
                for (int s = 0; s < info.channels; s++)
                    assert_in_range(pixels[(r * COLS + c) * (size_t)info.channels + (size_t)s]
                                        - smooth(r, c, s) + 8,
                                    0, 16);
        free(pixels);
    }
}

static void refuses_what_is_no_image(void **state)
{
    (void)state;
    image_info info;
    uint8_t *pixels;
    assert_int_equal(read_all(folder, &info, &pixels), SSM2D_ERROR_ARGUMENT);
    assert_line("is a folder");
    assert_int_equal(read_all(io_path("none.png"), &info, &pixels), SSM2D_ERROR_SYSTEM);
    assert_line("/none.png: cannot be opened: No such file");
    assert_int_equal(read_all(io_put("a.png", "", 0), &info, &pixels), SSM2D_ERROR_ARGUMENT);
    assert_line("/a.png: is empty");
    assert_int_equal(read_all(io_put("a.png", "GIF89a", 6), &info, &pixels),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_line("/a.png: is not an image of a kind that can be read: PNG, JPEG");
    assert_int_equal(read_all(io_put("a.png", "\x89PNX\r\n\x1a\n        ", 16), &info, &pixels),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("/a.png: is a damaged PNG");
    assert_int_equal(read_all(io_put("a.jpg", "\xff\xfe text in UTF-16", 18), &info, &pixels),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("/a.jpg: is a damaged JPEG: Not a JPEG file");
}

static void refuses_lying_headers(void **state)
{
    (void)state;
    image_info info;
    uint8_t *pixels;
    meter.calls = 0;
    assert_int_equal(read_all(lie("a.png", 0x7fffffff, 0x7fffffff, 1), &info, &pixels),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("width"); /* more than a million columns */
    assert_int_equal(read_all(lie("a.png", 0x7fffffff, 1 << 20, 1), &info, &pixels),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_line("has 2147483647 x 1048576 pixels and is interlaced");
    assert_int_equal(read_all(lie("a.png", 0x80000000, 10, 0), &info, &pixels),
                     SSM2D_ERROR_ARGUMENT);
    assert_int_equal(read_all(lie("a.png", 0, 10, 0), &info, &pixels), SSM2D_ERROR_ARGUMENT);
    /* tall is no reason to refuse: the rows run out */
    image_reader *reader;
    uint8_t row[3 * COLS];
    assert_int_equal(image_open(context, lie("a.png", 0x7fffffff, COLS, 0), &reader, &info, &error),
                     SSM2D_OK);
    assert_int_equal(info.rows, 0x7fffffff);
    ssm2d_status status = SSM2D_OK;
    int rows = 0;
    while (!(status = image_read_row(reader, row, &error))) rows++;
    assert_int_equal(rows, ROWS - 1); /* libspng looks one row ahead */
    assert_line("in row 37 of 2147483647");
    image_close(reader);
}

static void refuses_large_progressive_jpegs(void **state)
{
    (void)state;
    jpeg_kind k = {3, 1, 0, 0};
    image_info info;
    uint8_t *pixels;
    size_t size, frame = 0;
    unsigned char *bytes = io_get(make_jpeg("a.jpg", &k, ROWS, COLS), &size);
    while (frame < size - 9 && (bytes[frame] != 0xff || bytes[frame + 1] != 0xc2)) frame++;
    memcpy(bytes + frame + 5, "\xff\xdc\xff\xdc", 4); /* 65500 x 65500 */
    assert_int_equal(read_all(io_put("a.jpg", bytes, size), &info, &pixels),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_line("/a.jpg: has 65500 x 65500 pixels and is progressive: save it as a baseline JPEG");
    free(bytes);
}

/* Every beginning of a good file is refused somewhere, with the row. */
static void refuses_truncated_files(void **state)
{
    (void)state;
    const png_kind plain = {SPNG_COLOR_TYPE_TRUECOLOR, 8, 3, 0, 0},
                   laced = {SPNG_COLOR_TYPE_TRUECOLOR, 8, 3, 0, 1};
    const jpeg_kind baseline = {3, 0, 0, 0}, progressive = {3, 1, 0, 0};
    for (int kind = 0; kind < 4; kind++) {
        size_t size;
        const char *whole = kind == 0   ? make_png("whole", &plain, 150, 150)
                            : kind == 1 ? make_png("whole", &laced, 150, 150)
                            : kind == 2 ? make_jpeg("whole", &baseline, 200, COLS)
                                        : make_jpeg("whole", &progressive, 200, COLS);
        unsigned char *bytes = io_get(whole, &size);
        int rows_named = 0, later = 0;
        /* the last bytes hold no pixels */
        for (size_t cut = 1; cut < size - 4; cut += cut < 200 ? 1 : size / 300) {
            image_info info;
            uint8_t *pixels;
            assert_int_equal(read_all(io_put("part", bytes, cut), &info, &pixels),
                             SSM2D_ERROR_ARGUMENT);
            free(pixels);
            assert_line("/part: ");
            const char *row = strstr(error.line, "ends in row ");
            rows_named += row != NULL;
            later += row && atoi(row + 12) > 75;
        }
        /* a progressive JPEG is read before there are rows */
        if (kind != 3) assert_true(rows_named > 100 && later > 50);
        free(bytes);
    }
}

static void refuses_damaged_pixels(void **state)
{
    (void)state;
    const png_kind k = {SPNG_COLOR_TYPE_TRUECOLOR, 8, 3, 0, 0};
    image_info info;
    uint8_t *pixels;
    size_t size;
    unsigned char *bytes = io_get(make_png("a.png", &k, ROWS, COLS), &size);
    bytes[size / 2] ^= 0x10;
    assert_int_equal(read_all(io_put("a.png", bytes, size), &info, &pixels), SSM2D_ERROR_ARGUMENT);
    assert_line("/a.png: is damaged in row");
    free(pixels);
    free(bytes);
    const jpeg_kind j = {3, 0, 1, 0};
    bytes = io_get(make_jpeg("a.jpg", &j, 200, COLS), &size);
    memset(bytes + size / 2, 0xff, 40);
    assert_int_equal(read_all(io_put("a.jpg", bytes, size), &info, &pixels), SSM2D_ERROR_ARGUMENT);
    assert_line("/a.jpg: is damaged in row");
    free(pixels);
    free(bytes);
}

/* ---- writing --------------------------------------------------------------------------------- */

static ssm2d_status write_all(const char *path, size_t rows, size_t cols, int channels)
{
    image_writer *writer;
    image_info info = {rows, cols, channels};
    ssm2d_status status = image_create(context, path, &info, &writer, &error);
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

static void comes_back_as_written(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {ROWS, COLS}, {1, 5000}, {3000, 1}};
    for (int i = 0; i < 4; i++)
        for (int channels = 1; channels <= 3; channels += 2) {
            size_t rows = sizes[i][0], cols = sizes[i][1];
            image_info info;
            uint8_t *pixels;
            assert_int_equal(write_all(io_path("w.png"), rows, cols, channels), SSM2D_OK);
            assert_int_equal(read_all(io_path("w.png"), &info, &pixels), SSM2D_OK);
            assert_int_equal(info.rows, rows);
            assert_int_equal(info.cols, cols);
            assert_int_equal(info.channels, channels);
            for (size_t k = 0; k < rows * cols * (size_t)channels; k++) {
                size_t pixel = k / (size_t)channels;
                assert_int_equal(pixels[k], sample(pixel / cols, pixel % cols,
                                                   (int)(k % (size_t)channels), 255));
            }
            free(pixels);
        }
    assert_int_equal(io_count_files(), 1);
}

static void appears_only_when_finished(void **state)
{
    (void)state;
    image_writer *writer;
    image_info info = {3, 2, 1};
    uint8_t row[2] = {1, 2};
    assert_int_equal(image_create(context, io_path("w.png"), &info, &writer, &error), SSM2D_OK);
    assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/w.png: only 1 of its 3 rows were written");
    assert_int_equal(io_count_files(), 0);
    assert_int_equal(image_create(context, io_path("w.png"), &info, &writer, &error), SSM2D_OK);
    assert_int_not_equal(access(io_path("w.png"), F_OK), 0);
    image_abandon(writer);
    assert_int_equal(io_count_files(), 0);
    assert_int_equal(image_create(context, io_path("w.png"), &info, &writer, &error), SSM2D_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_write_row(writer, row, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/w.png: has all its 3 rows already");
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    assert_int_equal(io_count_files(), 1);
}

/* 16 bits and alpha come back as they were written, when they are asked for. */
static void keeps_depth_and_alpha(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        const image_info info = {ROWS, COLS, 1 + kind / 2, kind % 2 ? 16 : 8};
        const image_read_options exact = {.exact = 1};
        const size_t bytes = image_row_bytes(&info);
        image_writer *writer;
        image_reader *reader;
        image_info got;
        uint8_t *row = malloc(bytes), *back = malloc(bytes);
        assert_int_equal(image_create(context, io_path("w.png"), &info, &writer, &error), SSM2D_OK);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t i = 0; i < bytes; i++) row[i] = (uint8_t)sample(r, i, 0, 255);
            assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
        }
        assert_int_equal(image_finish(writer, &error), SSM2D_OK);
        assert_int_equal(image_open_with(context, io_path("w.png"), &exact, &reader, &got, &error),
                         SSM2D_OK);
        assert_int_equal(got.channels, info.channels);
        assert_int_equal(got.depth, info.depth);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t i = 0; i < bytes; i++) row[i] = (uint8_t)sample(r, i, 0, 255);
            assert_int_equal(image_read_row(reader, back, &error), SSM2D_OK);
            assert_memory_equal(row, back, bytes);
        }
        image_close(reader);
        assert_int_equal(image_open(context, io_path("w.png"), &reader, &got, &error), SSM2D_OK);
        assert_int_equal(got.channels, info.channels < 3 ? 1 : 3);
        assert_int_equal(got.depth, 8);
        image_close(reader);
        free(row);
        free(back);
    }
}

/* Writes a smooth picture as a JPEG of this quality; returns the size of the file, and the largest
 * error of a sample in *worst. */
static long smooth_jpeg(int channels, int quality, int *worst)
{
    const image_info info = {64, 48, channels, 8};
    const image_write_options options = {.jpeg = 1, .quality = quality};
    image_writer *writer;
    image_info got;
    uint8_t row[48 * 3], *pixels;
    assert_int_equal(image_create_with(context, io_path("w.jpg"), &info, &options, &writer, &error),
                     SSM2D_OK);
    for (int r = 0; r < 64; r++) {
        for (int i = 0; i < 48 * channels; i++) row[i] = (uint8_t)(3 * r + i / channels);
        assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    }
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    assert_int_equal(read_all(io_path("w.jpg"), &got, &pixels), SSM2D_OK);
    assert_int_equal(got.channels, channels);
    *worst = 0;
    for (int k = 0; k < 64 * 48 * channels; k++) {
        const int pixel = k / channels, off = abs(pixels[k] - (3 * (pixel / 48) + pixel % 48));
        if (off > *worst) *worst = off;
    }
    free(pixels);
    size_t size;
    free(io_get(io_path("w.jpg"), &size));
    return (long)size;
}

static void writes_jpegs(void **state)
{
    (void)state;
    static const image_info bad[] = {{1, 1, 2}, {1, 1, 3, 16}, {1, 65536, 1}};
    const image_write_options jpeg = {.jpeg = 1, .quality = 90};
    image_writer *writer;
    for (int channels = 1; channels <= 3; channels += 2) {
        int rough, fine;
        assert_true(smooth_jpeg(channels, 30, &rough) < smooth_jpeg(channels, 95, &fine));
        assert_in_range(fine, 0, 4);
        assert_in_range(rough, fine, 30);
    }
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(
            image_create_with(context, io_path("x.jpg"), &bad[i], &jpeg, &writer, &error),
            SSM2D_OK);
    assert_int_equal(io_count_files(), 1);
}

/* An image of too many pixels is refused by its header, before anything is decoded. */
static void limits_pixels(void **state)
{
    (void)state;
    image_reader *reader;
    image_info info;
    const image_read_options less = {.max_pixels = ROWS * COLS - 1};
    const image_read_options just = {.max_pixels = ROWS * COLS};
    const jpeg_kind k = {3, 0, 0, 0};
    assert_int_equal(write_all(io_path("w.png"), ROWS, COLS, 3), SSM2D_OK);
    make_jpeg("w.jpg", &k, ROWS, COLS);
    for (int i = 0; i < 2; i++) {
        const char *path = io_path(i ? "w.jpg" : "w.png");
        assert_int_equal(image_open_with(context, path, &less, &reader, &info, &error),
                         SSM2D_ERROR_UNSUPPORTED);
        assert_line("has 37 x 29 pixels, more than the 1072 that max-pixels allows");
        assert_int_equal(image_open_with(context, path, &just, &reader, &info, &error), SSM2D_OK);
        image_close(reader);
    }
}

/* From a stream and to a stream, which stay open. */
static void reads_and_writes_streams(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    const image_info info = {2, 3, 1};
    const image_write_options to = {.stream = f};
    const image_read_options from = {.stream = f};
    image_writer *writer;
    image_reader *reader;
    image_info got;
    uint8_t row[3] = {1, 2, 3}, back[3];
    assert_int_equal(image_create_with(context, "-", &info, &to, &writer, &error), SSM2D_OK);
    for (int r = 0; r < 2; r++) assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    rewind(f);
    assert_int_equal(image_open_with(context, "-", &from, &reader, &got, &error), SSM2D_OK);
    assert_int_equal(image_read_row(reader, back, &error), SSM2D_OK);
    assert_memory_equal(row, back, 3);
    image_close(reader);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(io_count_files(), 0);
}

static void refuses_what_it_cannot_write(void **state)
{
    (void)state;
    image_writer *writer;
    static const image_info bad[] = {{0, 1, 1},
                                     {1, 0, 1},
                                     {1, 1, 0},
                                     {1, 1, 5},
                                     {1, 1, 1, 12},
                                     {(size_t)1 << 31, 1, 1},
                                     {1, (size_t)1 << 32, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(image_create(context, io_path("w.png"), &bad[i], &writer, &error),
                         SSM2D_ERROR_ARGUMENT);
    image_info info = {1, 1, 1};
    assert_int_equal(image_create(context, io_path("no/w.png"), &info, &writer, &error),
                     SSM2D_ERROR_SYSTEM);
    assert_line("no/w.png: cannot be written: No such file");
    assert_int_equal(image_create(context, folder, &info, &writer, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("is a folder");
    assert_int_equal(io_count_files(), 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The most that was in use while reading (or writing) row by row; 0 where the C library does not
 * say. */
static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static size_t most_to_read(const char *path)
{
    image_reader *reader;
    image_info info;
    size_t before = in_use(), most = 0;
    assert_int_equal(image_open(context, path, &reader, &info, &error), SSM2D_OK);
    uint8_t *row = malloc(info.cols * (size_t)info.channels);
    for (size_t r = 0; r < info.rows; r++) {
        assert_int_equal(image_read_row(reader, row, &error), SSM2D_OK);
        if (in_use() - before > most) most = in_use() - before;
    }
    free(row);
    image_close(reader);
    return most;
}

static size_t most_to_write(const char *path, size_t rows, size_t cols)
{
    image_writer *writer;
    image_info info = {rows, cols, 3};
    uint8_t *row = malloc(3 * cols);
    size_t before = in_use(), most = 0;
    assert_int_equal(image_create(context, path, &info, &writer, &error), SSM2D_OK);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < 3 * cols; i++) row[i] = (uint8_t)sample(r, i, 0, 255);
        assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
        if (in_use() - before > most) most = in_use() - before;
    }
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    free(row);
    return most;
}

static void does_not_grow_with_height(void **state)
{
    (void)state;
    enum { LOW = 50, HIGH = 5000, WIDE = 300, SLACK = 1 << 17 };
    size_t low = most_to_write(io_path("low.png"), LOW, WIDE),
           high = most_to_write(io_path("high.png"), HIGH, WIDE);
    assert_true(high < low + SLACK);
    low = most_to_read(io_path("low.png"));
    high = most_to_read(io_path("high.png"));
    assert_true(high < low + SLACK);
    jpeg_kind k = {3, 0, 0, 0};
    make_jpeg("low.jpg", &k, LOW, WIDE);
    make_jpeg("high.jpg", &k, HIGH, WIDE);
    low = most_to_read(io_path("low.jpg"));
    high = most_to_read(io_path("high.jpg"));
    assert_true(high < low + SLACK);
}

static ssm2d_status read_once(void)
{
    image_info info;
    uint8_t *pixels;
    ssm2d_status status = read_all(io_path("a"), &info, &pixels);
    free(pixels);
    return status;
}

static ssm2d_status write_once(void) { return write_all(io_path("w.png"), 3, 3, 3); }

static void survives_failing_allocations(void **state)
{
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        png_kind k = {SPNG_COLOR_TYPE_TRUECOLOR, 16, 3, 0, interlaced};
        make_png("a", &k, ROWS, COLS);
        assert_int_equal(io_fail_everywhere(read_once), 4);
    }
    jpeg_kind j = {3, 0, 0, 0};
    make_jpeg("a", &j, ROWS, COLS);
    assert_int_equal(io_fail_everywhere(read_once), 3);
    assert_int_equal(io_fail_everywhere(write_once), 3);
    assert_int_equal(io_count_files(), 2);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_every_png),
        TEST(reads_the_smallest),
        TEST(reads_jpegs),
        TEST(refuses_what_is_no_image),
        TEST(refuses_lying_headers),
        TEST(refuses_large_progressive_jpegs),
        TEST(refuses_truncated_files),
        TEST(refuses_damaged_pixels),
        TEST(comes_back_as_written),
        TEST(appears_only_when_finished),
        TEST(refuses_what_it_cannot_write),
        TEST(keeps_depth_and_alpha),
        TEST(writes_jpegs),
        TEST(limits_pixels),
        TEST(reads_and_writes_streams),
        TEST(does_not_grow_with_height),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image", tests, io_setup, io_teardown);
}
