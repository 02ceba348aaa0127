/* Memory use of reading and writing PNG and JPEG, and failing allocations. */
#include "image_helpers.h"

#include <malloc.h>

/* Bytes that malloc has given out. */
static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Peak memory while reading (or writing) row by row; 0 if the C library does not report it. */
static size_t peak_reading(const char *path)
{
    image_reader *reader;
    image_info info;
    size_t before = in_use(), peak = 0;
    assert_int_equal(image_open(context, path, NULL, &reader, &info, &error), SSM2D_OK);
    uint8_t *row = malloc(info.cols * (size_t)info.channels);
    for (size_t r = 0; r < info.rows; r++) {
        assert_int_equal(image_read_row(reader, row, &error), SSM2D_OK);
        if (in_use() - before > peak) peak = in_use() - before;
    }
    free(row);
    image_close(reader);
    return peak;
}

static size_t peak_writing(const char *path, size_t rows, size_t cols)
{
    image_writer *writer;
    image_info info = {rows, cols, 3};
    uint8_t *row = malloc(3 * cols);
    size_t before = in_use(), peak = 0;
    assert_int_equal(image_create(context, path, &info, NULL, &writer, &error), SSM2D_OK);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < 3 * cols; i++) row[i] = (uint8_t)sample(r, i, 0, 255);
        assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
        if (in_use() - before > peak) peak = in_use() - before;
    }
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    free(row);
    return peak;
}

static void does_not_grow_with_height(void **state)
{
    (void)state;
    enum { LOW = 50, HIGH = 5000, WIDE = 300, SLACK = 1 << 17 };
    size_t low = peak_writing(io_path("low.png"), LOW, WIDE),
           high = peak_writing(io_path("high.png"), HIGH, WIDE);
    assert_true(high < low + SLACK);
    low = peak_reading(io_path("low.png"));
    high = peak_reading(io_path("high.png"));
    assert_true(high < low + SLACK);
    jpeg_kind k = {3, 0, 0, 0};
    make_jpeg("low.jpg", &k, LOW, WIDE);
    make_jpeg("high.jpg", &k, HIGH, WIDE);
    low = peak_reading(io_path("low.jpg"));
    high = peak_reading(io_path("high.jpg"));
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
        assert_int_equal(io_fail_everywhere(read_once), 3);
    }
    jpeg_kind j = {3, 0, 0, 0};
    make_jpeg("a", &j, ROWS, COLS);
    assert_int_equal(io_fail_everywhere(read_once), 2);
    assert_int_equal(io_fail_everywhere(write_once), 4);
    assert_int_equal(io_count_files(), 2);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(does_not_grow_with_height),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_memory", tests, io_setup, io_teardown);
}
