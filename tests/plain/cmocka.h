/* cmocka - the part of cmocka's interface that the tests of the layer, graph and operators use.
 *
 * It stands in for the library in builds that have nothing but a C compiler and this repository
 * (SSM2D_PLAIN_TESTS: cross builds, other C libraries). The first check that fails ends the program
 * with exit code 1. */
#ifndef TESTS_PLAIN_CMOCKA_H
#define TESTS_PLAIN_CMOCKA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*function)(void **state);
    int (*setup)(void **state), (*teardown)(void **state); /* or NULL */
};

#define cmocka_unit_test(function) ((struct CMUnitTest){#function, function, NULL, NULL})
#define cmocka_unit_test_setup_teardown(function, setup, teardown)                                 \
    ((struct CMUnitTest){#function, function, setup, teardown})
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    plain_run(tests, sizeof(tests) / sizeof *(tests), setup, teardown)

#define print_message    printf
#define print_error(...) fprintf(stderr, __VA_ARGS__)
#define fail_msg(...)                                                                              \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__),                 \
     fputc('\n', stderr), exit(1))
#define plain_check(holds, text) ((holds) ? (void)0 : fail_msg("%s", text))

#define assert_true(x)                plain_check(x, #x)
#define assert_false(x)               plain_check(!(x), "not " #x)
#define assert_null(p)                plain_check(!(p), #p " is NULL")
#define assert_non_null(p)            plain_check(p, #p " is not NULL")
#define assert_ptr_equal(a, b)        plain_check((const void *)(a) == (b), #a " is " #b)
#define assert_string_equal(a, b)     plain_check(!strcmp(a, b), #a " is " #b)
#define assert_string_not_equal(a, b) plain_check(strcmp(a, b), #a " is not " #b)
#define assert_memory_equal(a, b, n)  plain_check(!memcmp(a, b, n), #a " is " #b)
#define assert_in_range(x, low, high)                                                              \
    plain_check((uintmax_t)(x) >= (uintmax_t)(low) && (uintmax_t)(x) <= (uintmax_t)(high),         \
                #x " is from " #low " to " #high)
#define assert_int_equal(a, b) plain_int(__FILE__, __LINE__, #a, (intmax_t)(a), (intmax_t)(b), 1)
#define assert_int_not_equal(a, b)                                                                 \
    plain_int(__FILE__, __LINE__, #a, (intmax_t)(a), (intmax_t)(b), 0)

/* Only in a test's own function, as it returns from it; the test prints the reason before. */
#define skip()                                                                                     \
    do {                                                                                           \
        puts("skipped");                                                                           \
        return;                                                                                    \
    } while (0)

static inline void plain_int(const char *file, int line, const char *what, intmax_t a, intmax_t b,
                             int equal)
{
    if ((a == b) == equal) return;
    fprintf(stderr, "%s:%d: %s is %jd, which must%s be %jd\n", file, line, what, a,
            equal ? "" : " not", b);
    exit(1);
}

static inline int plain_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
                            int (*teardown)(void **))
{
    void *state = NULL;
    if (setup && setup(&state)) return 1;
    for (size_t i = 0; i < count; i++) {
        printf("%s\n", tests[i].name);
        fflush(stdout);
        if (tests[i].setup && tests[i].setup(&state)) return 1;
        tests[i].function(&state);
        if (tests[i].teardown && tests[i].teardown(&state)) return 1;
    }
    if (teardown && teardown(&state)) return 1;
    printf("%zu tests passed\n", count);
    return 0;
}

#endif
