/* Which kinds of images are known, by their names and by their first bytes. */
#include "image_kind_helpers.h"

static void knows_names(void **state)
{
    (void)state;
    static const char *const good[] = {"a.png", "a.PNG", "b.c.jpeg", "x.Jpg", "x.bmp"};
    static const char *const bad[] = {"png", "a.pngx", "a.pn", "a.", "a", "a.txt", "a.png,", "*"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(image_named(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(image_named(bad[i]));
#ifdef SSM2D_TIFF
    assert_true(image_named("a.tif") && image_named("a.tiff"));
    assert_non_null(strstr(image_kinds(), "TIFF"));
#else
    assert_false(image_named("a.tif"));
#endif
#ifdef SSM2D_WEBP
    assert_true(image_named("a.webp"));
    assert_non_null(strstr(image_kinds(), "WebP"));
#else
    assert_false(image_named("a.webp"));
    refused(io_put("a.webp", "RIFF", 4), SSM2D_ERROR_UNSUPPORTED, "which this ssm2d was built");
#endif
    refused(io_put("a.gif", "GIF89a", 6), SSM2D_ERROR_UNSUPPORTED,
            "/a.gif: is not an image of a kind that can be read: PNG, JPEG, BMP");
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(knows_names),
    };
    return cmocka_run_group_tests_name("image_kinds", tests, io_setup, io_teardown);
}
