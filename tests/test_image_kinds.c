/* Which image formats are recognised, by their names and by their first bytes. */
#include "image_kind_helpers.h"

static void formats_are_known_by_name(void **state)
{
    (void)state;
    char text[IMAGE_LIST];
    static const char *const good[] = {"a.png", "a.PNG", "b.c.jpeg", "x.Jpg", "x.bmp"};
    static const char *const bad[] = {"png",   "a.pngx", "a.pn", "a.",   "a",
                                      "a.txt", "a.png,", "*",    "a.pdf"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(image_named(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(image_named(bad[i]));
    assert_memory_equal(image_kinds(text), "PNG, JPEG, BMP", 14);
#ifdef SSM2D_TIFF
    assert_true(image_named("a.tif") && image_named("a.tiff"));
    assert_non_null(strstr(image_kinds(text), "TIFF"));
#else
    assert_false(image_named("a.tif"));
#endif
#ifdef SSM2D_WEBP
    assert_true(image_named("a.webp"));
    assert_non_null(strstr(image_kinds(text), "WebP"));
#else
    assert_false(image_named("a.webp"));
    refused(io_put("a.webp", "RIFF", 4), SSM2D_ERROR_UNSUPPORTED, "which this ssm2d was built");
#endif
#ifdef SSM2D_GIF
    assert_true(image_named("a.gif"));
#else
    assert_false(image_named("a.gif"));
    refused(io_put("a.gif", "GIF89a", 6), SSM2D_ERROR_UNSUPPORTED, "to convert it: convert ");
#endif
#ifdef SSM2D_HEIF
    assert_true(image_named("a.HEIC") && image_named("a.heif") && image_named("a.avif"));
#else
    assert_false(image_named("a.heic"));
    refused(io_put("a.heic",
                   "\0\0\0\x18"
                   "ftypheic",
                   12),
            SSM2D_ERROR_UNSUPPORTED, "heif-convert ");
#endif
}

/* A file that begins like an image but is not one is not reported as a damaged image. */
static void formats_are_known_by_first_bytes(void **state)
{
    (void)state;
    static const char *const others[] = {"Import notes", "Rows",         "Big text",
                                         "Make it so",   "GIVEN a file", "MM.text"};
    static const char film[12] = "\0\0\0\x18"
                                 "ftypisom",
                      wave[12] = "RIFF\1\1\1\1WAVE";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        refused(io_put("a.png", others[i], strlen(others[i])), SSM2D_ERROR_UNSUPPORTED,
                "/a.png: is not an image in a supported format: PNG, JPEG, BMP");
    refused(io_put("a.heic", film, sizeof film), SSM2D_ERROR_UNSUPPORTED,
            "/a.heic: is not an image");
    refused(io_put("a.webp", wave, sizeof wave), SSM2D_ERROR_UNSUPPORTED,
            "/a.webp: is not an image");
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(formats_are_known_by_name),
        TEST(formats_are_known_by_first_bytes),
    };
    return cmocka_run_group_tests_name("image_kinds", tests, io_setup, io_teardown);
}
