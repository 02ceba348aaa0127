/* src/draw: colour maps that mean what they show, and cells where they belong. */
#include "tool_run.h"

#include "draw/heatmap.h"
#include "io/image.h"

#include <math.h>

/* Relative luminance of an sRGB colour. */
static double luminance(colour c)
{
    double part[3] = {c.red, c.green, c.blue};
    for (int i = 0; i < 3; i++)
        part[i] = part[i] <= 0.04045 ? part[i] / 12.92 : pow((part[i] + 0.055) / 1.055, 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

static void test_sequential_gets_lighter(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_true(luminance(colour_at(COLOUR_SEQUENTIAL, i / 100.0))
                    < luminance(colour_at(COLOUR_SEQUENTIAL, (i + 1) / 100.0)));
}

static void test_diverging_is_lightest_in_the_middle(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        assert_true(luminance(colour_at(COLOUR_DIVERGING, i / 100.0))
                    < luminance(colour_at(COLOUR_DIVERGING, (i + 1) / 100.0)));
        assert_true(luminance(colour_at(COLOUR_DIVERGING, 1 - i / 100.0))
                    < luminance(colour_at(COLOUR_DIVERGING, 0.99 - i / 100.0)));
    }
    colour middle = colour_at(COLOUR_DIVERGING, 0.5), low = colour_at(COLOUR_DIVERGING, 0),
           high = colour_at(COLOUR_DIVERGING, 1);
    assert_true(fabs(middle.red - middle.blue) < 0.01 && middle.red > 0.95);
    assert_true(low.blue > low.red && high.red > high.blue);
}

static void test_beyond_the_ends(void **state)
{
    (void)state;
    colour end = colour_at(COLOUR_SEQUENTIAL, 1), beyond = colour_at(COLOUR_SEQUENTIAL, 7),
           none = colour_at(COLOUR_DIVERGING, NAN);
    assert_memory_equal(&end, &beyond, sizeof end);
    assert_true(none.red == none.green && none.green == none.blue);
}

/* The mean place of the pixels of a colour. */
static size_t centre(const uint8_t *pixels, const image_info *info, colour c, double *row,
                     double *col)
{
    size_t n = 0;
    *row = *col = 0;
    for (size_t i = 0; i < info->rows * info->cols; i++) {
        const uint8_t *p = pixels + 3 * i;
        if (abs(p[0] - (int)lround(255 * c.red)) + abs(p[1] - (int)lround(255 * c.green))
                + abs(p[2] - (int)lround(255 * c.blue))
            > 2)
            continue;
        *row += (double)(i / info->cols);
        *col += (double)(i % info->cols);
        n++;
    }
    *row /= (double)n;
    *col /= (double)n;
    return n;
}

/* values[0][0] is the largest, values[1][1] the smallest: from_below, they are at the bottom left
 * and at the top right. */
static void check_corners(int from_below)
{
    static const double values[] = {1, 0, NAN, -1};
    static const char *const titles[] = {"title"};
    heat_panel panel = {.values = values,
                        .rows = 2,
                        .cols = 2,
                        .from_below = from_below,
                        .map = COLOUR_DIVERGING,
                        .row_label = "row",
                        .col_label = "column"};
    heat_figure figure = {.title = "Corners",
                          .grid_rows = 1,
                          .grid_cols = 1,
                          .panels = &panel,
                          .row_titles = titles,
                          .col_titles = titles};
    ssm2d_context *context;
    ssm2d_error error;
    image_reader *reader;
    image_info info;
    assert_int_equal(
        ssm2d_context_create(
            &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = 1}, &context,
            &error),
        SSM2D_OK);
    if (heatmap_draw(context, in_folder("a.png"), &figure, &error)) fail_msg("%s", error.line);
    assert_int_equal(image_open(context, in_folder("a.png"), &reader, &info, &error), SSM2D_OK);
    assert_int_equal(info.channels, 3);
    uint8_t *pixels = malloc(info.rows * info.cols * 3);
    assert_non_null(pixels);
    for (size_t i = 0; i < info.rows; i++)
        assert_int_equal(image_read_row(reader, pixels + i * info.cols * 3, &error), SSM2D_OK);
    double high_row, high_col, low_row, low_col, none_row, none_col;
    assert_true(centre(pixels, &info, colour_at(COLOUR_DIVERGING, 1), &high_row, &high_col)
                > 10000);
    assert_true(centre(pixels, &info, colour_at(COLOUR_DIVERGING, 0), &low_row, &low_col) > 10000);
    assert_true(centre(pixels, &info, colour_at(COLOUR_DIVERGING, NAN), &none_row, &none_col)
                > 10000);
    assert_true(high_col < low_col - 50);
    assert_true(from_below ? high_row > low_row + 50 : high_row < low_row - 50);
    assert_true(fabs(none_row - low_row) < 20 && fabs(none_col - high_col) < 20);
    free(pixels);
    image_close(reader);
    ssm2d_context_destroy(context);
}

static void test_corners(void **state)
{
    (void)state;
    check_corners(0);
    check_corners(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequential_gets_lighter),
        cmocka_unit_test(test_diverging_is_lightest_in_the_middle),
        cmocka_unit_test(test_beyond_the_ends),
        cmocka_unit_test_setup_teardown(test_corners, folder_setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
