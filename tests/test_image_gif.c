/* GIF, if the build supports it: the first frame, interlaced, transparent, smaller than the
 * screen. */
#include "image_kind_helpers.h"

#include <gif_lib.h>

enum { SCREEN_ROWS = 11, SCREEN_COLS = 9, TRANSPARENT = 5 };

typedef struct gif_kind {
    int rows, cols, top, left, interlaced, transparent, pictures;
} gif_kind;

static int index_at(int r, int c) { return (3 * r + c) % 8; }

/* The rows of an interlaced picture in the order in which they are stored. */
static int stored_row(const gif_kind *k, int n)
{
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    for (int pass = 0; k->interlaced && pass < 4; pass++)
        for (int r = first[pass]; r < k->rows; r += step[pass])
            if (!n--) return r;
    return n;
}

static const char *make_gif(const gif_kind *k)
{
    GifColorType colours[8];
    int code;
    for (int i = 0; i < 8; i++)
        colours[i] = (GifColorType){(GifByteType)(i * 30), (GifByteType)(200 - i), (GifByteType)i};
    ColorMapObject *map = GifMakeMapObject(8, colours);
    GifFileType *gif = EGifOpenFileName(io_path("a.gif"), false, &code);
    assert_non_null(map);
    assert_non_null(gif);
    assert_int_equal(EGifPutScreenDesc(gif, SCREEN_COLS, SCREEN_ROWS, 8, 0, map), GIF_OK);
    for (int p = 0; p < k->pictures; p++) {
        const GifByteType control[] = {(GifByteType)k->transparent, 0, 0, TRANSPARENT};
        EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, sizeof control, control);
        EGifPutImageDesc(gif, k->left, k->top, k->cols, k->rows, k->interlaced, NULL);
        for (int n = 0; n < k->rows; n++) {
            GifByteType row[SCREEN_COLS];
            for (int c = 0; c < k->cols; c++)
                row[c] = (GifByteType)((index_at(stored_row(k, n), c) + p) % 8);
            assert_int_equal(EGifPutLine(gif, row, k->cols), GIF_OK);
        }
    }
    assert_int_equal(EGifCloseFile(gif, &code), GIF_OK);
    GifFreeMapObject(map);
    return io_path("a.gif");
}

static void assert_pixels(const gif_kind *k, const uint8_t *pixels, int channels)
{
    for (int r = 0; r < SCREEN_ROWS; r++)
        for (int c = 0; c < SCREEN_COLS; c++) {
            const int y = r - k->top, x = c - k->left;
            const int inside = y >= 0 && y < k->rows && x >= 0 && x < k->cols;
            const int i = inside ? index_at(y, x) : 0;
            const int seen = inside && !(k->transparent && i == TRANSPARENT);
            const uint8_t *p = pixels + (r * SCREEN_COLS + c) * channels;
            if (channels == 4) assert_int_equal(p[3], seen ? 255 : 0);
            if (channels == 4 && !seen) continue;
            assert_int_equal(p[0], seen ? i * 30 : 255);
            assert_int_equal(p[1], seen ? 200 - i : 255);
            assert_int_equal(p[2], seen ? i : 255);
        }
}

static void reads_the_first_picture(void **state)
{
    (void)state;
    static const gif_kind kinds[] = {{SCREEN_ROWS, SCREEN_COLS, 0, 0, 0, 0, 1},
                                     {SCREEN_ROWS, SCREEN_COLS, 0, 0, 1, 1, 3},
                                     {5, 4, 3, 2, 1, 0, 2},
                                     {9, 8, 4, 3, 0, 1, 1}}; /* goes beyond the screen */
    const image_read_options exact = {.exact = 1};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        image_info info;
        uint8_t *pixels = read_good(make_gif(&kinds[i]), &info);
        assert_int_equal(info.rows, SCREEN_ROWS);
        assert_int_equal(info.cols, SCREEN_COLS);
        assert_int_equal(info.channels, 3);
        assert_pixels(&kinds[i], pixels, 3);
        free(pixels);
        assert_int_equal(read_with(io_path("a.gif"), &exact, &info, &pixels), SSM2D_OK);
        assert_int_equal(info.channels, i ? 4 : 3);
        assert_pixels(&kinds[i], pixels, info.channels);
        free(pixels);
    }
}

static void refuses_damaged_files(void **state)
{
    (void)state;
    static const gif_kind kind = {SCREEN_ROWS, SCREEN_COLS, 0, 0, 0, 0, 1};
    const image_read_options limit = {.max_pixels = 98};
    image_info info;
    uint8_t *pixels, file[4096];
    make_gif(&kind);
    assert_int_equal(read_with(io_path("a.gif"), &limit, &info, &pixels), SSM2D_ERROR_UNSUPPORTED);
    assert_line("has 11 x 9 pixels, more than the 98");
    FILE *f = fopen(io_path("a.gif"), "rb");
    const size_t size = fread(file, 1, sizeof file, f);
    fclose(f);
    assert_true(size > 60);
    /* the file ends with codes that have no pixels */
    for (size_t cut = 1; cut + 12 < size; cut++) {
        io_put("a.gif", file, cut);
        assert_int_equal(read_with(io_path("a.gif"), &(image_read_options){0}, &info, &pixels),
                         SSM2D_ERROR_ARGUMENT);
        free(pixels);
    }
    refused(io_put("a.gif", file, 20), SSM2D_ERROR_ARGUMENT, "/a.gif: is a damaged GIF: ");
    refused(io_put("a.gif", "GIF89a\1\0\1\0\0\0\0;", 14), SSM2D_ERROR_ARGUMENT,
            "/a.gif: is a GIF without an image");
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    static const gif_kind kind = {5, 4, 3, 2, 1, 1, 1};
    assert_true(allocations_to_read(make_gif(&kind)) >= 4);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_the_first_picture),
        TEST(refuses_damaged_files),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_gif", tests, io_setup, io_teardown);
}
