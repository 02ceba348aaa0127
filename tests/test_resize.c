/* Resizing: equal to Pillow 9.4 to the bit (Image.resize with BILINEAR, Image.convert), one resize
 * for many sizes, and regions. */
#include "data_helpers.h"

#include "core/rng.h"
#include "data/resize_axis.h"

enum { R = 5, C = 7 };

static const uint8_t grey[R * C] = {30,  141, 73,  107, 189, 73,  184, 39,  150, 82,  116, 198,
                                    82,  193, 48,  159, 91,  125, 207, 91,  202, 57,  168, 100,
                                    134, 216, 100, 211, 66,  177, 32,  143, 75,  109, 191};
static const uint8_t smaller[] = {62, 87,  124, 163, 67, 104, 132, 169, 73,  112, 149, 174,
                                  76, 101, 138, 177, 81, 118, 146, 183, 87,  126, 163, 188,
                                  83, 115, 152, 115, 95, 132, 160, 121, 101, 140, 170, 126};
static const uint8_t larger[] = {
    0,   37,  74,  74,  111, 148, 160, 84,  121, 190, 28,  65,  77,  114, 151, 163, 200, 38,
    107, 144, 68,  80,  117, 154, 154, 191, 228, 4,   41,  78,  78,  115, 152, 164, 88,  125,
    194, 32,  69,  81,  118, 155, 167, 204, 42,  111, 148, 72,  84,  121, 158, 158, 195, 232,
    10,  47,  84,  84,  121, 158, 170, 94,  131, 200, 38,  75,  87,  124, 161, 173, 210, 48,
    117, 154, 78,  90,  127, 164, 164, 201, 238, 15,  52,  89,  89,  126, 163, 175, 99,  136,
    205, 43,  80,  92,  129, 166, 178, 215, 53,  122, 159, 83,  95,  132, 169, 169, 206, 243,
    21,  58,  95,  95,  132, 169, 181, 105, 142, 211, 49,  86,  98,  135, 172, 184, 221, 59,
    128, 165, 89,  101, 138, 175, 175, 212, 249, 26,  63,  100, 100, 137, 174, 186, 110, 147,
    216, 54,  91,  103, 140, 177, 189, 226, 64,  133, 170, 94,  106, 143, 180, 180, 217, 254,
    32,  69,  106, 106, 143, 180, 129, 116, 153, 110, 60,  97,  109, 146, 183, 195, 120, 70,
    139, 113, 100, 112, 149, 138, 186, 223, 116, 36,  73,  110, 110, 147, 184, 83,  120, 157,
    27,  64,  101, 113, 150, 187, 199, 37,  74,  143, 67,  104, 116, 153, 105, 190, 227, 8};
static const uint8_t narrower[] = {95,  77,  114, 137, 114, 91,  114, 151, 133, 104, 86,  123,
                                   146, 123, 100, 123, 160, 142, 113, 95,  132, 155, 132, 109,
                                   132, 169, 151, 122, 104, 141, 164, 141, 118, 141, 178, 160,
                                   76,  113, 150, 113, 90,  127, 150, 132, 77};

static void make_image(uint8_t *image)
{
    for (int i = 0; i < R * C * 3; i++) image[i] = (uint8_t)(i * 37);
}

static void run(resize *r, const uint8_t *image, size_t rows, size_t cols, int channels,
                uint8_t *out)
{
    if (resize_start(r, "x", rows, cols, channels, out, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < rows; i++) resize_row(r, image + i * cols * (size_t)channels);
}

static void agrees_with_pillow(void **state)
{
    (void)state;
    uint8_t image[R * C * 3], out[8 * 9 * 3];
    static const struct {
        size_t rows, cols;
        int channels;
        const uint8_t *expected;
        size_t size;
    } cases[] = {{3, 4, 3, smaller, sizeof smaller},
                 {8, 9, 3, larger, sizeof larger},
                 {5, 3, 3, narrower, sizeof narrower},
                 {5, 7, 1, grey, sizeof grey}};
    make_image(image);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        resize *r;
        assert_int_equal(
            resize_create(context, cases[i].rows, cases[i].cols, cases[i].channels, &r, &error),
            SSM2D_OK);
        assert_int_equal(cases[i].size, cases[i].rows * cases[i].cols * (size_t)cases[i].channels);
        run(r, image, R, C, 3, out);
        assert_memory_equal(out, cases[i].expected, cases[i].size);
        resize_destroy(r);
    }
}

static void takes_images_of_many_sizes_in_turn(void **state)
{
    (void)state;
    uint8_t image[R * C * 3], wide[R * C * 3], first[36], out[36], constant[40 * 3];
    resize *r;
    make_image(image);
    for (int i = 0; i < R * C; i++) wide[3 * i] = wide[3 * i + 1] = wide[3 * i + 2] = grey[i];
    memset(constant, 77, sizeof constant);
    assert_int_equal(resize_create(context, 3, 4, 3, &r, &error), SSM2D_OK);
    run(r, wide, R, C, 3, first);
    for (int turn = 0; turn < 3; turn++) {
        run(r, image, R, C, 3, out);
        assert_memory_equal(out, smaller, sizeof smaller);
        run(r, constant, 1, 40, 3, out);
        for (int i = 0; i < 36; i++) assert_int_equal(out[i], 77);
        run(r, constant, 40, 1, 3, out);
        for (int i = 0; i < 36; i++) assert_int_equal(out[i], 77);
        run(r, image, 3, 4, 3, out);
        assert_memory_equal(out, image, 36);
        run(r, grey, R, C, 1, out); /* grey is RGB with equal channels */
        assert_memory_equal(out, first, 36);
    }
    long calls = meter.calls;
    for (int turn = 0; turn < 3; turn++) {
        run(r, image, R, C, 3, out);
        run(r, grey, R, C, 1, out);
        run(r, constant, 40, 1, 3, out);
    }
    assert_int_equal(meter.calls, calls); /* no allocation for sizes seen before */
    resize_destroy(r);
}

/* A chooser that returns a given answer. */
static void choose(void *user, size_t rows, size_t cols, resize_region *region)
{
    assert_true(region->top == 0 && region->left == 0);
    assert_true(region->rows == rows && region->cols == cols);
    assert_true(region->window_top == 0 && region->window_left == 0);
    const resize_region *wanted = user;
    const size_t resized_rows = region->resized_rows, resized_cols = region->resized_cols;
    *region = *wanted;
    if (!region->resized_rows) region->resized_rows = resized_rows;
    if (!region->resized_cols) region->resized_cols = resized_cols;
}

/* Rectangle, resized size, window: by cutting the rectangle out, resizing all of it, and cutting
 * the window out of that. */
static void resizes_regions(void **state)
{
    (void)state;
    uint8_t image[R * C * 3], cut[R * C * 3], whole[16 * 16 * 3], out[9 * 9 * 3];
    make_image(image);
    rng random = rng_seed(11);
    for (int turn = 0; turn < 3000; turn++) {
#define BELOW(n) ((size_t)(rng_next(&random) % (size_t)(n)))
        const size_t rows = 1 + BELOW(9), cols = 1 + BELOW(9);
        const int channels = BELOW(2) ? 3 : 1;
        resize_region g = {.rows = 1 + BELOW(R), .cols = 1 + BELOW(C)};
        g.top = BELOW(R - g.rows + 1);
        g.left = BELOW(C - g.cols + 1);
        g.window_top = BELOW(4);
        g.window_left = BELOW(4);
        g.resized_rows = rows + g.window_top + BELOW(3);
        g.resized_cols = cols + g.window_left + BELOW(3);
#undef BELOW
        resize *r;
        assert_int_equal(resize_create(context, rows, cols, channels, &r, &error), SSM2D_OK);
        resize_choose_with(r, choose, &g);
        run(r, image, R, C, 3, out);
        resize_destroy(r);
        for (size_t y = 0; y < g.rows; y++)
            memcpy(cut + y * g.cols * 3, image + ((y + g.top) * C + g.left) * 3, g.cols * 3);
        assert_int_equal(
            resize_create(context, g.resized_rows, g.resized_cols, channels, &r, &error), SSM2D_OK);
        run(r, cut, g.rows, g.cols, 3, whole);
        resize_destroy(r);
        for (size_t y = 0; y < rows; y++)
            assert_memory_equal(
                out + y * cols * (size_t)channels,
                whole + ((y + g.window_top) * g.resized_cols + g.window_left) * (size_t)channels,
                cols * (size_t)channels);
    }
}

static void invalid_regions_are_refused(void **state)
{
    (void)state;
    static const resize_region odd[] = {
        {.rows = 0, .cols = 1},
        {.rows = 1, .cols = C + 1},
        {.top = R, .rows = 1, .cols = 1},
        {.top = (size_t)-1, .rows = 2, .cols = 1},
        {.left = 1, .rows = 1, .cols = C},
        {.rows = 1, .cols = 1, .resized_rows = 2},
        {.rows = 1, .cols = 1, .resized_cols = MAX_IMAGE_SIDE + 1},
        {.rows = 1, .cols = 1, .window_left = 1},
    };
    uint8_t out[12];
    resize *r;
    resize_region region;
    assert_int_equal(resize_create(context, 3, 4, 1, &r, &error), SSM2D_OK);
    resize_choose_with(r, choose, &region);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        region = odd[i];
        assert_int_equal(resize_start(r, "a.png", R, C, 1, out, &error), SSM2D_ERROR_ARGUMENT);
        assert_line("a.png: the region ");
        assert_line("does not fit an image of 5 x 7");
    }
    resize_choose_with(r, NULL, NULL);
    run(r, grey, R, C, 1, out);
    resize_destroy(r);
}

static void invalid_sizes_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {
        {0, 4, 1}, {4, 0, 1}, {4, 4, 2}, {65537, 4, 1}, {4, 65537, 3}};
    resize *r;
    uint8_t out[16];
    for (int i = 0; i < 5; i++) {
        assert_int_equal(
            resize_create(context, sizes[i][0], sizes[i][1], (int)sizes[i][2], &r, &error),
            SSM2D_ERROR_ARGUMENT);
        assert_line("use 1 to 65536 rows and columns, and 1 or 3 channels");
        assert_null(r);
    }
    assert_int_equal(resize_create(context, 4, 4, 1, &r, &error), SSM2D_OK);
    assert_int_equal(resize_start(r, "a.png", 65537, 1, 1, out, &error), SSM2D_ERROR_UNSUPPORTED);
    assert_line("a.png: has 65537 x 1 pixels");
    resize_destroy(r);
}

static ssm2d_status resize_once(void)
{
    uint8_t image[R * C * 3], out[72];
    resize *r;
    make_image(image);
    ssm2d_status status = resize_create(context, 8, 9, 1, &r, &error);
    if (!status) status = resize_start(r, "x", R, C, 3, out, &error);
    for (size_t i = 0; i < R && !status; i++) resize_row(r, image + i * C * 3);
    resize_destroy(r);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    assert_int_equal(io_fail_everywhere(resize_once), 6);
}

/* The sums of two products at once against the plain ones: noise, black and white, all widths. */
static void sums_agree_with_plain_ones(void **state)
{
    (void)state;
    enum { MAX = 96, LINE = 61 };
    static uint8_t memory[1 << 20], row[3 * MAX], one[3 * MAX], two[3 * MAX], ring[512 * LINE];
    rng r = rng_seed(2);
    for (int turn = 0; turn < 3000; turn++) {
        const resize_filter filter = (resize_filter)(rng_next(&r) % 2);
        const size_t from = 1 + rng_next(&r) % MAX, to = 1 + rng_next(&r) % MAX;
        const size_t window = rng_next(&r) % to, outputs = 1 + rng_next(&r) % (to - window);
        const int kind = (int)(rng_next(&r) % 3), channels = rng_next(&r) % 2 ? 1 : 3;
        resize_axis a;
        assert_true(axis_bytes(filter, from, to, outputs) <= sizeof memory);
        axis_plan(&a, filter, from, to, window, outputs, memory);
        assert_true(axis_is(&a, filter, from, to, window, outputs));
        /* a copy of exactly its size, so that a sanitizer detects reading beyond it */
        const size_t bytes = from * (size_t)channels;
        for (size_t i = 0; i < bytes; i++)
            row[i] = (uint8_t)(kind == 0 ? rng_next(&r) : kind == 1 ? 255 : rng_next(&r) % 2 * 255);
        uint8_t *exact = malloc(bytes);
        memcpy(exact, row, bytes);
        axis_across(&a, exact, channels, one);
        axis_across_plain(&a, exact, channels, two);
        assert_memory_equal(one, two, outputs * (size_t)channels);
        free(exact);
        const size_t line = 1 + rng_next(&r) % LINE, i = rng_next(&r) % outputs;
        assert_true(a.taps <= 512);
        for (size_t k = 0; k < a.taps * line; k++)
            ring[k] = (uint8_t)(kind == 0   ? rng_next(&r)
                                : kind == 1 ? 255
                                            : rng_next(&r) % 2 * 255);
        axis_down(&a, i, ring, line, one);
        axis_down_plain(&a, i, ring, line, two);
        assert_memory_equal(one, two, line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(agrees_with_pillow),
        TEST(takes_images_of_many_sizes_in_turn),
        TEST(resizes_regions),
        TEST(invalid_regions_are_refused),
        TEST(invalid_sizes_are_refused),
        TEST(survives_failing_allocations),
        TEST(sums_agree_with_plain_ones),
    };
    return cmocka_run_group_tests_name("resize", tests, io_setup, data_end);
}
