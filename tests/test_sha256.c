/* SHA-256 on the examples of FIPS 180-4, whole and in pieces, and of files. */
#include "io_helpers.h"

#include "io/download.h"
#include "io/sha256.h"

#include <fcntl.h>

static void examples_of_the_standard_agree(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 130; piece += 9) {
            sha256 s = sha256_start();
            char text[SHA256_TEXT];
            const char *at = cases[i][0];
            for (size_t left = strlen(at); left;) {
                const size_t n = left < piece ? left : piece;
                sha256_add(&s, at, n);
                at += n;
                left -= n;
            }
            assert_string_equal(sha256_end(&s, text), cases[i][1]);
        }
}

/* The sum that is given decides: SHA-256, or else MD5. */
static void files_are_verified(void **state)
{
    (void)state;
    static char zeros[100000];
    published right = {"zeros", sizeof zeros, NULL, "0019D23BEF56A136A1891211D7007F6F"};
    published both = {"zeros", sizeof zeros,
                      "0d2bbc8fe2d1b0b4f4e4a2ee0c17f0a57a9ad3c5e7a7cdf2b1f1dd1c7a0b12ab",
                      "0019d23bef56a136a1891211d7007f6f"};
    char sum[SUM_TEXT];
    const int fd = open(io_put("zeros", zeros, sizeof zeros), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(published_verify(&right, fd, sum), 1);
    assert_string_equal(sum, "MD5 0019d23bef56a136a1891211d7007f6f");
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(published_verify(&both, fd, sum), 0);
    assert_memory_equal(sum, "SHA-256 ", 8);
    close(fd);
    assert_int_equal(published_verify(&both, -1, sum), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(examples_of_the_standard_agree, io_begin),
        cmocka_unit_test_setup(files_are_verified, io_begin),
    };
    return cmocka_run_group_tests_name("sha256", tests, io_setup, io_teardown);
}
