/* CMYK JPEGs, which become RGB. */
#include "image_kind_helpers.h"

/* Red of half ink and a quarter black: C 0, M Y 128, K 64. */
static void reads_cmyk(void **state)
{
    (void)state;
    static const uint8_t ink[] = {0, 128, 128, 64}, inverted[] = {255, 127, 127, 191};
    static const int expected[] = {191, 95, 95}; /* 255 * 191 / 255, 127 * 191 / 255 */
    const jpeg_kind kinds[] = {{JCS_CMYK, JCS_CMYK, 4, 0, 0},
                               {JCS_CMYK, JCS_CMYK, 4, 1, 0},
                               {JCS_CMYK, JCS_YCCK, 4, 1, 0}};
    for (int i = 0; i < 3; i++)
        for (int exact = 0; exact < 2; exact++) {
            image_info info;
            uint8_t *pixels;
            const image_read_options o = {.exact = exact};
            const char *path = make_jpeg("a.jpg", &kinds[i], kinds[i].adobe ? inverted : ink);
            if (read_with(path, &o, &info, &pixels)) fail_msg("%s", error.line);
            assert_int_equal(info.channels, 3);
            assert_int_equal(info.rows, ROWS);
            for (size_t k = 0; k < ROWS * COLS * 3; k++)
                assert_in_range(pixels[k] - expected[k % 3] + 3, 0, 6);
            free(pixels);
        }
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    const jpeg_kind j = {JCS_CMYK, JCS_CMYK, 4, 0, 6};
    assert_true(allocations_to_read(make_jpeg("a.jpg", &j, NULL)) >= 3);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_cmyk),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_cmyk", tests, io_setup, io_teardown);
}
