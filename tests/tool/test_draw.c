/* src/draw: properties of the colour maps, and positions of cells, lines and texts. */
#include "tool_run.h"

#include "draw/canvas.h"
#include "draw/curves.h"
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

static void test_values_beyond_the_scale_are_clamped(void **state)
{
    (void)state;
    colour end = colour_at(COLOUR_SEQUENTIAL, 1), beyond = colour_at(COLOUR_SEQUENTIAL, 7),
           none = colour_at(COLOUR_DIVERGING, NAN);
    assert_memory_equal(&end, &beyond, sizeof end);
    assert_true(none.red == none.green && none.green == none.blue);
}

static ssm2d_context *new_context(void)
{
    const ssm2d_context_options options = {.size = sizeof options, .threads = 1};
    ssm2d_context *context;
    ssm2d_error error;
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    return context;
}

/* The pixels of a picture in the test's folder, which the caller frees. */
static uint8_t *read_picture(const ssm2d_context *context, const char *name, image_info *info)
{
    ssm2d_error error;
    image_reader *reader;
    assert_int_equal(image_open(context, in_folder("%s", name), NULL, &reader, info, &error),
                     SSM2D_OK);
    assert_int_equal(info->channels, 3);
    uint8_t *pixels = malloc(info->rows * info->cols * 3);
    assert_non_null(pixels);
    for (size_t i = 0; i < info->rows; i++)
        assert_int_equal(image_read_row(reader, pixels + i * info->cols * 3, &error), SSM2D_OK);
    image_close(reader);
    return pixels;
}

static int is_colour(const uint8_t *p, colour c)
{
    return abs(p[0] - (int)lround(255 * c.red)) + abs(p[1] - (int)lround(255 * c.green))
               + abs(p[2] - (int)lround(255 * c.blue))
           <= 2;
}

/* The mean position of the pixels of a colour. */
static size_t centre(const uint8_t *pixels, const image_info *info, colour c, double *row,
                     double *col)
{
    size_t n = 0;
    *row = *col = 0;
    for (size_t i = 0; i < info->rows * info->cols; i++) {
        if (!is_colour(pixels + 3 * i, c)) continue;
        *row += (double)(i / info->cols);
        *col += (double)(i % info->cols);
        n++;
    }
    *row /= (double)n;
    *col /= (double)n;
    return n;
}

/* The pixels of a figure of one panel; the caller frees them. */
static uint8_t *draw_panel(const heat_panel *panel, const char *title, image_info *info)
{
    static const char *const titles[] = {"title"};
    const heat_figure figure = {.title = title,
                                .grid_rows = 1,
                                .grid_cols = 1,
                                .panels = panel,
                                .row_titles = titles,
                                .col_titles = titles};
    ssm2d_context *context = new_context();
    ssm2d_error error;
    if (heatmap_draw(context, in_folder("a.png"), &figure, &error)) fail_msg("%s", error.line);
    uint8_t *pixels = read_picture(context, "a.png", info);
    ssm2d_context_destroy(context);
    return pixels;
}

/* values[0][0] is the largest, values[1][1] the smallest: from_below, they are at the bottom left
 * and at the top right. */
static void check_corners(int from_below)
{
    static const double values[] = {1, 0, NAN, -1};
    const heat_panel panel = {.values = values,
                              .rows = 2,
                              .cols = 2,
                              .from_below = from_below,
                              .map = COLOUR_DIVERGING,
                              .row_label = "row",
                              .col_label = "column"};
    image_info info;
    uint8_t *pixels = draw_panel(&panel, "Corners", &info);
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
}

static void test_cells_are_drawn_in_their_corners(void **state)
{
    (void)state;
    check_corners(0);
    check_corners(1);
}

/* A scale reaches down to the smallest value: 0.1 is the darkest colour beside 1, and 0.01 is not
 * beside 0.0001; values that are smaller by more than four decades are as dark. `at` is where 0.1
 * is on the scale. */
static void check_logarithmic(double smallest, double at)
{
    const double values[] = {1, smallest, 0.1, 0};
    const heat_panel panel = {.values = values,
                              .rows = 2,
                              .cols = 2,
                              .map = COLOUR_SEQUENTIAL,
                              .logarithmic = 1,
                              .row_label = "row",
                              .col_label = "column"};
    image_info info;
    uint8_t *pixels = draw_panel(&panel, NULL, &info);
    double row, col, other_row, other_col;
    assert_true(centre(pixels, &info, colour_at(COLOUR_SEQUENTIAL, 1), &row, &col) > 10000);
    assert_true(centre(pixels, &info, colour_at(COLOUR_SEQUENTIAL, at), &other_row, &other_col)
                > 10000);
    assert_true(other_row > row + 50);
    free(pixels);
}

static void test_logarithmic_scale_has_decades(void **state)
{
    (void)state;
    check_logarithmic(0.1, 0);
    check_logarithmic(0.01, 0.5);
    check_logarithmic(0.011, 0.5);
    check_logarithmic(1e-4, 0.75);
    check_logarithmic(1e-9, 0.75);
}

/* A frame is drawn around the marked cells, and only then; from_below it goes with its cells. */
static void test_marked_cells_are_framed(void **state)
{
    (void)state;
    static const double values[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const colour black = {0, 0, 0};
    heat_panel panel = {.values = values,
                        .rows = 4,
                        .cols = 4,
                        .map = COLOUR_SEQUENTIAL,
                        .row_label = "row",
                        .col_label = "column"};
    image_info info;
    double row, col, below_row, below_col;
    uint8_t *pixels = draw_panel(&panel, NULL, &info);
    const size_t without = centre(pixels, &info, black, &row, &col);
    free(pixels);
    assert_true(without < 10);
    panel.mark = (heat_mark){.row = 3, .col = 1, .rows = 1, .cols = 2};
    pixels = draw_panel(&panel, NULL, &info);
    const size_t with = centre(pixels, &info, black, &row, &col);
    free(pixels);
    assert_true(with > without + 200);
    panel.from_below = 1;
    pixels = draw_panel(&panel, NULL, &info);
    centre(pixels, &info, black, &below_row, &below_col);
    free(pixels);
    assert_true(below_row < row - 50 && fabs(below_col - col) < 5);
}

/* Lines of a note are at most as wide as requested, where words allow it, and lose nothing. */
static void test_wrapped_lines_fit_and_lose_nothing(void **state)
{
    (void)state;
    static const text_style style = {10, 0, 0};
    static const char text[] =
        "a few words of a note that is to be broken\nand a second line of it, "
        "with averyverylongwordthatcannotbebrokenanywhere in it";
    for (double width = 20; width < 700; width += 13) {
        char wrapped[sizeof text], *line = wrapped;
        memcpy(wrapped, text, sizeof text);
        canvas_wrap(style, width, wrapped);
        for (size_t i = 0; i < sizeof text; i++)
            assert_true(wrapped[i] == text[i] || (wrapped[i] == '\n' && text[i] == ' '));
        for (char *end = line; end; line = end + 1) {
            end = strchr(line, '\n');
            if (end) *end = 0;
            if (strchr(line, ' ')) assert_true(canvas_text_width(style, line) <= width);
            if (!end) break;
            /* the next word would not have fitted */
            char longer[sizeof text];
            snprintf(longer, sizeof longer, "%s %.*s", line, (int)strcspn(end + 1, " \n"), end + 1);
            if (text[end - wrapped] == ' ') assert_true(canvas_text_width(style, longer) > width);
        }
    }
}

/* A text that is too wide ends with two dots, whatever the space, and stays within its memory. */
static void test_wide_text_ends_with_two_dots(void **state)
{
    (void)state;
    static const text_style style = {10, 0, 0};
    char name[400], out[128 + 1];
    for (size_t length = 1; length < sizeof name; length += 3) {
        memset(name, 'w', length);
        name[length] = 0;
        for (size_t size = 4; size < sizeof out; size += 31) {
            out[size] = 'x';
            canvas_fit(style, 104, name, out, size);
            assert_int_equal(out[size], 'x');
            assert_true(canvas_text_width(style, out) <= 104);
            if (length > 40 && size > 40) assert_string_equal(out + strlen(out) - 3, "w..");
        }
    }
    assert_string_equal(canvas_fit(style, 500,
                                   "gr\xc3\xbc\xc3\x9f"
                                   "e",
                                   out, sizeof out),
                        "gr\xc3\xbc\xc3\x9f"
                        "e");
}

/* How many rows the pixels of a colour span below the legend. */
static double rows_spanned(const uint8_t *pixels, const image_info *info, colour c)
{
    size_t first = info->rows, last = 0;
    for (size_t i = info->rows * 135 / 1000; i < info->rows; i++)
        for (size_t k = 0; k < info->cols; k++)
            if (is_colour(pixels + 3 * (i * info->cols + k), c)) {
                if (i < first) first = i;
                last = i;
            }
    return last < first ? 0 : (double)(last - first + 1);
}

/* Draws a line that rises by ten, and another one. Returns the height of everything in a colour, in
 * units in which the first line is ten high. */
static double height_beside_ten(const curve *other, colour c)
{
    static const double x[] = {0, 1}, y[] = {0, 10};
    static const colour red = {1, 0, 0};
    const curve curves[] = {{.name = "a", .x = x, .y = y, .count = 2, .colour = red}, *other};
    const curve_panel panel = {.y_label = "y", .curves = curves, .count = 2};
    const curve_figure figure = {
        .x_label = "x", .panels = &panel, .count = 1, .x_low = 0, .x_high = 1, .shared_legend = 1};
    ssm2d_context *context = new_context();
    ssm2d_error error;
    image_info info;
    if (curves_draw(context, in_folder("c.png"), &figure, &error)) fail_msg("%s", error.line);
    uint8_t *pixels = read_picture(context, "c.png", &info);
    const double height = rows_spanned(pixels, &info, c) / rows_spanned(pixels, &info, red) * 10;
    free(pixels);
    ssm2d_context_destroy(context);
    return height;
}

/* A bar of `spread` to each side of a point. */
static void check_bar(const double *spread, double expected)
{
    static const double middle[] = {0.5}, five[] = {5};
    static const colour blue = {0, 0, 1};
    const curve point = {
        .name = "b", .x = middle, .y = five, .count = 1, .colour = blue, .spread = spread};
    const double height = height_beside_ten(&point, blue);
    if (!(fabs(height - expected) < 0.2)) fail_msg("a bar of %g, expected %g", height, expected);
}

/* A band about a level line, of which a part may have no deviation. */
static void check_band(const double spread[5], double expected)
{
    static const double x[] = {0.2, 0.35, 0.5, 0.65, 0.8}, fives[] = {5, 5, 5, 5, 5};
    static const colour blue = {0, 0, 1}, light = {0.82, 0.82, 1};
    const curve line = {
        .name = "b", .x = x, .y = fives, .count = 5, .colour = blue, .spread = spread, .band = 1};
    const double height = height_beside_ten(&line, light);
    if (!(fabs(height - expected) < 0.2)) fail_msg("a band of %g, expected %g", height, expected);
}

static void test_bands_cover_the_deviation(void **state)
{
    (void)state;
    check_band((double[]){2, 2, 2, 2, 2}, 4);
    check_band((double[]){1, 1, NAN, 3, 3}, 6);
    check_band((double[]){3, NAN, 1, 1, NAN}, 2); /* an area has two points at least */
    check_band((double[]){NAN, NAN, NAN, NAN, NAN}, 0);
}

static void test_bars_show_the_deviation(void **state)
{
    (void)state;
    static const double two[] = {2}, none[] = {NAN};
    check_bar(two, 4);
    check_bar(none, 0);
    check_bar(NULL, 0);
}

/* The row of a level line at 100, from above. */
static double row_of_hundred(int is_percent, const double *spread)
{
    static const double x[] = {0, 1}, y[] = {100, 100};
    static const colour red = {1, 0, 0};
    const curve line = {.name = "a", .x = x, .y = y, .count = 2, .colour = red, .spread = spread};
    const curve_panel panel = {
        .y_label = "y", .curves = &line, .count = 1, .is_percent = is_percent};
    const curve_figure figure = {
        .x_label = "x", .panels = &panel, .count = 1, .x_low = 0, .x_high = 1, .shared_legend = 1};
    ssm2d_context *context = new_context();
    ssm2d_error error;
    image_info info;
    if (curves_draw(context, in_folder("c.png"), &figure, &error)) fail_msg("%s", error.line);
    uint8_t *pixels = read_picture(context, "c.png", &info);
    size_t first = 0; /* the legend is to the left of the middle */
    while (first < info.rows && !is_colour(pixels + 3 * (first * info.cols + info.cols / 2), red))
        first++;
    free(pixels);
    ssm2d_context_destroy(context);
    return (double)first / (double)info.rows;
}

/* An axis of percentages ends at 100, of one value alone and with deviations beyond it. */
static void test_percent_axis_ends_at_100(void **state)
{
    (void)state;
    static const double two[] = {2, 2};
    assert_true(row_of_hundred(0, NULL) > 0.4);
    assert_true(row_of_hundred(0, two) > 0.4);
    assert_true(row_of_hundred(1, NULL) < 0.2);
    assert_true(row_of_hundred(1, two) < 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequential_gets_lighter),
        cmocka_unit_test(test_diverging_is_lightest_in_the_middle),
        cmocka_unit_test(test_values_beyond_the_scale_are_clamped),
        cmocka_unit_test_setup_teardown(test_cells_are_drawn_in_their_corners, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_logarithmic_scale_has_decades, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_marked_cells_are_framed, folder_setup,
                                        folder_teardown),
        cmocka_unit_test(test_wrapped_lines_fit_and_lose_nothing),
        cmocka_unit_test(test_wide_text_ends_with_two_dots),
        cmocka_unit_test_setup_teardown(test_percent_axis_ends_at_100, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_bars_show_the_deviation, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_bands_cover_the_deviation, folder_setup,
                                        folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
