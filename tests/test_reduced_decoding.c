/* JPEG files decoded at a fraction of their size: when that is done, and that the result is nearly
 * the same. */
#include "policy_helpers.h"

#include "data/picture.h"

enum { ROWS = 401, COLS = 515, SIDE = 40, SIZE = SIDE * SIDE * 3 };

/* Smooth, so that a fraction of its pixels shows the same. */
static void put_photo(const char *name, int jpeg)
{
    const image_info info = {ROWS, COLS, 3, 8};
    const image_write_options how = {.format = jpeg ? "JPEG" : "PNG", .quality = 95};
    image_writer *writer;
    uint8_t row[3 * COLS];
    if (image_create(context, io_path(name), &info, &how, &writer, &error))
        fail_msg("%s", error.line);
    for (int y = 0; y < ROWS; y++) {
        for (int x = 0; x < COLS; x++) {
            row[3 * x] = (uint8_t)(128 + 100 * sin(x / 40.0));
            row[3 * x + 1] = (uint8_t)(128 + 100 * sin(y / 50.0));
            row[3 * x + 2] = (uint8_t)(128 + 100 * sin((x + y) / 60.0));
        }
        assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    }
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
}

static augment *create(const char *reduced, const char *crop)
{
    augment_options o = augment_options_default();
    augment *a;
    if (augment_options_set(&o, "reduced_decoding", reduced, &error)
        || augment_options_set(&o, "resized_crop", crop, &error)
        || augment_options_set(&o, "interpolation", "bicubic", &error))
        fail_msg("%s", error.line);
    const augment_setup setup = {.options = &o,
                                 .when = AUGMENT_TRAINING,
                                 .norm = {{0}, {1, 1, 1}},
                                 .rows = SIDE,
                                 .cols = SIDE,
                                 .channels = 3};
    if (augment_create(context, &setup, &a, &error)) fail_msg("%s", error.line);
    return a;
}

static void fetch(augment *a, const char *name, uint64_t image, uint8_t *out)
{
    augment_begin(a, 0, image);
    if (picture_read(context, io_path(name), &(image_read_options){0}, augment_resize(a),
                     augment_pixels(a), &error))
        fail_msg("%s", error.line);
    memcpy(out, augment_pixels(a), SIZE);
}

static void scale_is_as_small_as_the_rectangle_allows(void **state)
{
    (void)state;
    static const struct {
        size_t rows, cols;
        int by;
    } cases[] = {{79, 1000, 1}, {80, 80, 2},     {159, 400, 2}, {160, 160, 4}, {319, 3000, 4},
                 {320, 320, 8}, {30000, 320, 8}, {10, 10, 1},   {60000, 79, 1}};
    augment *a = create("true", "0"), *plain = create("false", "0");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(resize_reduction(augment_resize(a), cases[i].rows, cases[i].cols),
                         cases[i].by);
        assert_int_equal(resize_reduction(augment_resize(plain), cases[i].rows, cases[i].cols), 1);
    }
    augment_destroy(a);
    augment_destroy(plain);
}

static void reduced_image_is_nearly_the_same(void **state)
{
    (void)state;
    put_photo("photo.jpg", 1);
    put_photo("photo.png", 0);
    for (int crop = 0; crop < 2; crop++) {
        augment *reduced = create("true", crop ? "0.08" : "0");
        augment *whole = create("false", crop ? "0.08" : "0");
        int different = 0;
        for (uint64_t i = 0; i < 30; i++) {
            uint8_t one[SIZE], two[SIZE];
            double sum = 0;
            fetch(whole, "photo.jpg", i, one);
            fetch(reduced, "photo.jpg", i, two);
            for (int k = 0; k < SIZE; k++) sum += abs(one[k] - two[k]);
            different += memcmp(one, two, SIZE) != 0;
            if (sum / SIZE > 3) fail_msg("image %d differs by %g", (int)i, sum / SIZE);
            fetch(whole, "photo.png", i, one); /* PNGs are decoded whole */
            fetch(reduced, "photo.png", i, two);
            assert_memory_equal(one, two, SIZE);
        }
        assert_true(different > 20);
        augment_destroy(reduced);
        augment_destroy(whole);
    }
}

/* Rows below the rectangle are not needed, and a file that ends there is good enough. */
static void reads_no_further_than_needed(void **state)
{
    (void)state;
    put_photo("photo.jpg", 1);
    FILE *f = fopen(io_path("photo.jpg"), "rb");
    static uint8_t bytes[1 << 20];
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    io_put("half.jpg", bytes, size / 2);
    augment *a = create("false", "0.08");
    int good = 0;
    for (uint64_t i = 0; i < 100; i++) {
        uint8_t one[SIZE], two[SIZE];
        augment_begin(a, 0, i);
        if (picture_read(context, io_path("half.jpg"), &(image_read_options){0}, augment_resize(a),
                         augment_pixels(a), &error)) {
            assert_line("half.jpg: ends in row");
            continue;
        }
        memcpy(one, augment_pixels(a), SIZE);
        fetch(a, "photo.jpg", i, two);
        assert_memory_equal(one, two, SIZE);
        good++;
    }
    assert_true(good > 3 && good < 60);
    augment_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(scale_is_as_small_as_the_rectangle_allows),
                                       TEST(reduced_image_is_nearly_the_same),
                                       TEST(reads_no_further_than_needed)};
    return cmocka_run_group_tests(tests, io_setup, data_end);
}
