/* PNG and JPEG files that are read, and files that are refused. */
#include "image_helpers.h"

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

/* The expected value of channel c of a pixel, computed in floating point. */
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

static void smallest_images_are_read(void **state)
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

static void non_images_are_refused(void **state)
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
    assert_int_equal(read_all(io_put("a.png", "%PDF-1", 6), &info, &pixels),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_line("/a.png: is not an image in a supported format: PNG, JPEG");
    assert_int_equal(read_all(io_put("a.png", "\x89PNX\r\n\x1a\n        ", 16), &info, &pixels),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("/a.png: is a damaged PNG");
    assert_int_equal(read_all(io_put("a.jpg", "\xff\xfe text in UTF-16", 18), &info, &pixels),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("/a.jpg: is a damaged JPEG: Not a JPEG file");
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

/* Changes the header and updates its checksum. */
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

static void inconsistent_headers_are_refused(void **state)
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
    /* a gigabyte, which so few bytes cannot contain */
    assert_int_equal(read_all(lie("a.png", 16384, 16384, 1), &info, &pixels), SSM2D_ERROR_ARGUMENT);
    assert_line("a.png: is too short for its 16384 x 16384 pixels");
    assert_int_equal(read_all(lie("a.png", 0x80000000, 10, 0), &info, &pixels),
                     SSM2D_ERROR_ARGUMENT);
    assert_int_equal(read_all(lie("a.png", 0, 10, 0), &info, &pixels), SSM2D_ERROR_ARGUMENT);
    /* height is not limited: the file ends early */
    image_reader *reader;
    uint8_t row[3 * COLS];
    assert_int_equal(
        image_open(context, lie("a.png", 0x7fffffff, COLS, 0), NULL, &reader, &info, &error),
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
    assert_line("/a.jpg: has 65500 x 65500 pixels and is progressive");
    free(bytes);
}

/* Every truncation of a good file is refused, with the row. */
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
        /* a progressive JPEG is read whole before its first row */
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
        assert_int_equal(image_open(context, path, &less, &reader, &info, &error),
                         SSM2D_ERROR_UNSUPPORTED);
        assert_line("has 37 x 29 pixels, more than the 1072 that max-pixels allows");
        assert_int_equal(image_open(context, path, &just, &reader, &info, &error), SSM2D_OK);
        image_close(reader);
    }
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_every_png),
        TEST(smallest_images_are_read),
        TEST(reads_jpegs),
        TEST(non_images_are_refused),
        TEST(inconsistent_headers_are_refused),
        TEST(refuses_large_progressive_jpegs),
        TEST(refuses_truncated_files),
        TEST(refuses_damaged_pixels),
        TEST(limits_pixels),
    };
    return cmocka_run_group_tests_name("image_read", tests, io_setup, io_teardown);
}
