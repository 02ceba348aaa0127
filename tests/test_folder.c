/* Image folders: which files are images of which class, in which order, and their pixels at another
 * size. */
#include "data_helpers.h"

#include <jpeglib.h>

static void put_png(const char *name, size_t rows, size_t cols, int channels, int value)
{
    uint8_t pixels[40 * 40 * 3];
    for (size_t i = 0; i < rows * cols * (size_t)channels; i++)
        pixels[i] = (uint8_t)(value + (int)i * 3);
    data_put_png(name, rows, cols, channels, pixels);
}

static void put_jpeg(const char *name, int value)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t row[24 * 3];
    JSAMPROW rows[] = {row};
    data_put(name, "", 0);
    FILE *f = fopen(io_path(name), "wb");
    assert_non_null(f);
    memset(row, value, sizeof row);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, f);
    jpeg.image_height = 16;
    jpeg.image_width = 24;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int i = 0; i < 16; i++) jpeg_write_scanlines(&jpeg, rows, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(f);
}

static void put_all(void)
{
    put_png("train/dog/b.png", 10, 12, 3, 1);
    put_png("train/dog/a.png", 7, 5, 1, 2);
    put_jpeg("train/cat/Z.JPEG", 200);
    put_png("train/cat/y.PNG", 8, 8, 3, 3);
    put_png("train/ant hill/x.y.png", 1, 1, 1, 100);
    put_png("val/dog/1.png", 8, 8, 1, 5);
    put_jpeg("val/ant hill/2.jpg", 9);
    data_put("train/cat/notes.txt", "no image", 8);
    data_put("train/cat/.hidden.png", "no image", 8);
    data_put("train/README", "no class", 8);
    data_put("train/.cache/a.png", "no class", 8);
    data_put("train/cat/png", "no image", 8);
    data_put("train/cat/folder.png/a.png", "no image", 8);
}

static void finds_classes_and_images(void **state)
{
    (void)state;
    static const int labels[] = {0, 1, 1, 2, 2};
    char where[128];
    uint64_t names = 0;
    put_all();
    snprintf(where, sizeof where, "folder:%s", folder);
    for (int turn = 0; turn < 2; turn++) {
        dataset *d = open_data(turn ? folder : where, DATASET_TRAIN);
        const dataset_info *info = dataset_about(d);
        assert_int_equal(info->count, 5);
        assert_int_equal(info->label_count, 3);
        assert_string_equal(info->label_names[0], "ant hill");
        assert_string_equal(info->label_names[1], "cat");
        assert_string_equal(info->label_names[2], "dog");
        assert_int_equal(info->channels, 3);
        assert_int_equal(info->rows, 0);
        assert_int_equal(info->cols, 0);
        for (size_t i = 0; i < 5; i++) assert_int_equal(dataset_label(d, i), labels[i]);
        uint8_t out[100 * 100 * 3];
        assert_int_equal(fetch_as(d, 0, 3, 2, 3, out), SSM2D_OK);
        for (int i = 0; i < 18; i++) assert_int_equal(out[i], 100);
        assert_int_equal(fetch_as(d, 1, 30, 20, 3, out), SSM2D_OK); /* Z sorts before y */
        for (int i = 0; i < 1800; i++) assert_in_range(out[i], 198, 202);
        assert_int_equal(fetch_as(d, 3, 7, 5, 1, out), SSM2D_OK);
        for (int i = 0; i < 35; i++) assert_int_equal(out[i], (uint8_t)(2 + 3 * i));
        if (turn) assert_true(info->names == names);
        names = info->names;
        dataset_close(d);
    }
    assert_true(names);
    /* with the class indices of training */
    dataset *d = open_data(folder, DATASET_TEST);
    assert_int_equal(dataset_about(d)->count, 2);
    assert_int_equal(dataset_about(d)->label_count, 3);
    assert_int_equal(dataset_label(d, 0), 0);
    assert_int_equal(dataset_label(d, 1), 2);
    dataset_close(d);
    char from[512], to[512];
    /* last of its class before and after */
    snprintf(from, sizeof from, "%s/train/cat/y.PNG", folder);
    snprintf(to, sizeof to, "%s/train/cat/z.PNG", folder);
    assert_int_equal(rename(from, to), 0);
    d = open_data(folder, DATASET_TRAIN);
    assert_true(dataset_about(d)->names != names);
    dataset_close(d);
}

static void resizes_as_resize_does(void **state)
{
    (void)state;
    uint8_t image[10 * 12 * 3], expected[16 * 9], out[16 * 9];
    resize *r;
    put_all();
    dataset *d = open_data(folder, DATASET_TRAIN);
    for (size_t i = 0; i < sizeof image; i++) image[i] = (uint8_t)(1 + i * 3);
    assert_int_equal(resize_create(context, 16, 9, 1, &r, &error), SSM2D_OK);
    assert_int_equal(resize_start(r, "x", 10, 12, 3, expected, &error), SSM2D_OK);
    for (size_t i = 0; i < 10; i++) resize_row(r, image + i * 36);
    resize_destroy(r);
    assert_int_equal(fetch_as(d, 4, 16, 9, 1, out), SSM2D_OK);
    assert_memory_equal(out, expected, sizeof out);
    dataset_close(d);
}

static void test_folder_replaces_missing_val(void **state)
{
    (void)state;
    put_png("train/a/1.png", 2, 2, 1, 0);
    put_png("train/b/1.png", 2, 2, 1, 0);
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_ERROR_SYSTEM);
    assert_line("has no folder val or test");
    put_png("test/b/1.png", 2, 2, 1, 0);
    dataset *d = open_data(folder, DATASET_TEST);
    assert_int_equal(dataset_about(d)->count, 1);
    assert_int_equal(dataset_label(d, 0), 1);
    dataset_close(d);
    assert_int_equal(try_data(folder, DATASET_VAL), SSM2D_ERROR_SYSTEM);
    assert_line("has no folders val and test");
    put_png("val/b/1.png", 2, 2, 1, 0);
    put_png("val/b/2.png", 2, 2, 1, 0);
    d = open_data(folder, DATASET_VAL);
    assert_int_equal(dataset_about(d)->count, 2);
    dataset_close(d);
    d = open_data(folder, DATASET_TEST);
    assert_int_equal(dataset_about(d)->count, 1);
    dataset_close(d);
}

/* Folders of classes without train: training images alone. */
static void reads_flat_folders(void **state)
{
    (void)state;
    int splits;
    put_png("b/1.png", 2, 2, 1, 0);
    put_png("a/1.png", 2, 2, 1, 0);
    put_png("a/2.png", 2, 2, 1, 0);
    data_put("README", "", 0);
    assert_int_equal(dataset_splits(folder, &splits, &error), SSM2D_OK);
    assert_int_equal(splits, DATASET_HAS(TRAIN));
    dataset *d = open_data(folder, DATASET_TRAIN);
    assert_int_equal(dataset_about(d)->count, 3);
    assert_int_equal(dataset_about(d)->label_count, 2);
    assert_int_equal(dataset_label(d, 2), 1);
    assert_int_equal(dataset_about(d)->ignored, 1);
    dataset_close(d);
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_ERROR_SYSTEM);
    assert_line("has no folder val or test");
}

/* Non-image files among the images are counted, and the first is named. */
static void ignored_files_are_counted(void **state)
{
    (void)state;
    char expected[512];
    put_all();
    dataset *d = open_data(folder, DATASET_TRAIN);
    /* README, cat/folder.png (a folder), cat/notes.txt, cat/png */
    assert_int_equal(dataset_about(d)->ignored, 4);
    snprintf(expected, sizeof expected, "%s/train/README", folder);
    assert_string_equal(dataset_about(d)->first_ignored, expected);
    snprintf(expected, sizeof expected, "%s/train/cat/Z.JPEG", folder);
    char path[512];
    assert_true(dataset_file(d, 1, path, sizeof path));
    assert_string_equal(path, expected);
    assert_false(dataset_file(d, 1, path, 20));
    dataset_close(d);
}

static void refuses_bad_folders(void **state)
{
    (void)state;
    put_png("val/a/1.png", 2, 2, 1, 0);
    assert_int_equal(try_data(folder, DATASET_TRAIN), SSM2D_ERROR_SYSTEM);
    assert_line("has no folder train");
    /* its own classes, as there is no training */
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_OK);
    data_put("train/readme", "", 0);
    assert_int_equal(try_data(folder, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/train: contains no folders: expected a folder with images for each class");
    data_put("train/b/readme", "", 0);
    assert_int_equal(try_data(folder, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/train/b: has no images: expected *.png, *.jpg, *.jpeg");
    put_png("train/b/1.png", 2, 2, 1, 0);
    assert_int_equal(try_data(folder, DATASET_TRAIN), SSM2D_OK);
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_ERROR_ARGUMENT);
    assert_line("/val: has the class \"a\", which is not in train");
    data_empty(io_path("val"));
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_ERROR_ARGUMENT);
    assert_line("has no images");
}

static void names_files_that_cannot_be_read(void **state)
{
    (void)state;
    uint8_t out[64];
    size_t size;
    put_all();
    dataset *d = open_data(folder, DATASET_TRAIN);
    unlink(io_path("train/dog/a.png"));
    assert_int_equal(fetch_as(d, 3, 8, 8, 1, out), SSM2D_ERROR_SYSTEM);
    assert_line("/train/dog/a.png: cannot be opened: No such file");
    unsigned char *bytes = io_get(io_path("train/dog/b.png"), &size);
    io_put("train/dog/b.png", bytes, size / 2);
    free(bytes);
    assert_int_not_equal(fetch_as(d, 4, 8, 8, 1, out), SSM2D_OK);
    assert_line("/train/dog/b.png: ");
    bytes = io_get(io_path("train/cat/Z.JPEG"), &size);
    io_put("train/cat/Z.JPEG", bytes, size / 2);
    free(bytes);
    assert_int_not_equal(fetch_as(d, 1, 8, 8, 1, out), SSM2D_OK);
    assert_line("/train/cat/Z.JPEG: ");
    io_put("train/cat/y.PNG", "", 0);
    assert_int_not_equal(fetch_as(d, 2, 8, 8, 1, out), SSM2D_OK);
    assert_line("/train/cat/y.PNG: is empty");
    assert_int_equal(fetch_as(d, 0, 8, 8, 1, out), SSM2D_OK); /* the rest is unchanged */
    dataset_limit_pixels(d, 1);
    assert_int_equal(fetch_as(d, 4, 8, 8, 1, out), SSM2D_ERROR_UNSUPPORTED);
    assert_line("pixels, more than the 1 that max-pixels allows");
    dataset_close(d);
}

static ssm2d_status open_test(void) { return try_data(folder, DATASET_TEST); }

static ssm2d_status read_picture(void)
{
    uint8_t out[48];
    resize *to;
    ssm2d_status status = resize_create(context, 4, 4, 3, &to, &error);
    if (!status)
        status = picture_read(context, io_path("val/dog/1.png"), &(image_read_options){0}, to, out,
                              &error);
    resize_destroy(to);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    put_all();
    assert_true(io_fail_everywhere(open_test) > 8);
    assert_true(io_fail_everywhere(read_picture) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_classes_and_images),         TEST(resizes_as_resize_does),
        TEST(test_folder_replaces_missing_val), TEST(reads_flat_folders),
        TEST(ignored_files_are_counted),        TEST(refuses_bad_folders),
        TEST(names_files_that_cannot_be_read),  TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("folder", tests, io_setup, data_end);
}
