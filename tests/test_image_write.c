/* PNG and JPEG files that are written, and read back. */
#include "image_helpers.h"

static void written_images_read_back(void **state)
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
    assert_int_equal(image_create(context, io_path("w.png"), &info, NULL, &writer, &error),
                     SSM2D_OK);
    assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/w.png: only 1 of its 3 rows were written");
    assert_int_equal(io_count_files(), 0);
    assert_int_equal(image_create(context, io_path("w.png"), &info, NULL, &writer, &error),
                     SSM2D_OK);
    assert_int_not_equal(access(io_path("w.png"), F_OK), 0);
    image_abandon(writer);
    assert_int_equal(io_count_files(), 0);
    assert_int_equal(image_create(context, io_path("w.png"), &info, NULL, &writer, &error),
                     SSM2D_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_write_row(writer, row, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/w.png: has all its 3 rows already");
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    assert_int_equal(io_count_files(), 1);
}

/* 16 bits and alpha are read back as written, if requested. */
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
        assert_int_equal(image_create(context, io_path("w.png"), &info, NULL, &writer, &error),
                         SSM2D_OK);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t i = 0; i < bytes; i++) row[i] = (uint8_t)sample(r, i, 0, 255);
            assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
        }
        assert_int_equal(image_finish(writer, &error), SSM2D_OK);
        assert_int_equal(image_open(context, io_path("w.png"), &exact, &reader, &got, &error),
                         SSM2D_OK);
        assert_int_equal(got.channels, info.channels);
        assert_int_equal(got.depth, info.depth);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t i = 0; i < bytes; i++) row[i] = (uint8_t)sample(r, i, 0, 255);
            assert_int_equal(image_read_row(reader, back, &error), SSM2D_OK);
            assert_memory_equal(row, back, bytes);
        }
        image_close(reader);
        assert_int_equal(image_open(context, io_path("w.png"), NULL, &reader, &got, &error),
                         SSM2D_OK);
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
    const image_write_options options = {.format = "JPEG", .quality = quality};
    image_writer *writer;
    image_info got;
    uint8_t row[48 * 3], *pixels;
    assert_int_equal(image_create(context, io_path("w.jpg"), &info, &options, &writer, &error),
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
    const image_write_options jpeg = {.format = "JPEG", .quality = 90};
    image_writer *writer;
    for (int channels = 1; channels <= 3; channels += 2) {
        int rough, fine;
        assert_true(smooth_jpeg(channels, 30, &rough) < smooth_jpeg(channels, 95, &fine));
        assert_in_range(fine, 0, 4);
        assert_in_range(rough, fine, 30);
    }
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(
            image_create(context, io_path("x.jpg"), &bad[i], &jpeg, &writer, &error), SSM2D_OK);
    assert_int_equal(io_count_files(), 1);
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
    assert_int_equal(image_create(context, "-", &info, &to, &writer, &error), SSM2D_OK);
    for (int r = 0; r < 2; r++) assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    rewind(f);
    assert_int_equal(image_open(context, "-", &from, &reader, &got, &error), SSM2D_OK);
    assert_int_equal(image_read_row(reader, back, &error), SSM2D_OK);
    assert_memory_equal(row, back, 3);
    image_close(reader);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(io_count_files(), 0);
}

static void unwritable_images_are_refused(void **state)
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
        assert_int_equal(image_create(context, io_path("w.png"), &bad[i], NULL, &writer, &error),
                         SSM2D_ERROR_ARGUMENT);
    image_info info = {1, 1, 1};
    assert_int_equal(image_create(context, io_path("no/w.png"), &info, NULL, &writer, &error),
                     SSM2D_ERROR_SYSTEM);
    assert_line("no/w.png: cannot be written: No such file");
    assert_int_equal(image_create(context, folder, &info, NULL, &writer, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("is a folder");
    assert_int_equal(io_count_files(), 0);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(written_images_read_back),
        TEST(appears_only_when_finished),
        TEST(unwritable_images_are_refused),
        TEST(keeps_depth_and_alpha),
        TEST(writes_jpegs),
        TEST(reads_and_writes_streams),
    };
    return cmocka_run_group_tests_name("image_write", tests, io_setup, io_teardown);
}
