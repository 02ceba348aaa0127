/* MD5 on the examples of RFC 1321, whole and in pieces. */
#include "io_helpers.h"

#include "io/md5.h"

static void examples_of_the_rfc_agree(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 100; piece += 9) {
            md5 m = md5_start();
            char text[MD5_TEXT];
            const char *at = cases[i][0];
            for (size_t left = strlen(at); left;) {
                const size_t n = left < piece ? left : piece;
                md5_add(&m, at, n);
                at += n;
                left -= n;
            }
            assert_string_equal(md5_end(&m, text), cases[i][1]);
        }
}

static void sums_files(void **state)
{
    (void)state;
    char text[MD5_TEXT];
    static char zeros[100000];
    assert_int_equal(md5_file(io_put("a", "abc", 3), text, &error), SSM2D_OK);
    assert_string_equal(text, "900150983cd24fb0d6963f7d28e17f72");
    assert_int_equal(md5_file(io_put("a", zeros, sizeof zeros), text, &error), SSM2D_OK);
    assert_string_equal(text, "0019d23bef56a136a1891211d7007f6f");
    assert_int_equal(md5_file(io_path("none"), text, &error), SSM2D_ERROR_SYSTEM);
    assert_line("/none: cannot be opened");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(examples_of_the_rfc_agree, io_begin),
        cmocka_unit_test_setup(sums_files, io_begin),
    };
    return cmocka_run_group_tests_name("md5", tests, io_setup, io_teardown);
}
