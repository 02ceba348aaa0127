/* ssm2d theory: identities and ranks of kernels, and its pictures. The library's kernels are
 * compared with formulas. */
#include "tool_run.h"

#include "theory.h"

#include <math.h>

static ssm2d_context *context;

static int setup(void **state)
{
    const ssm2d_context_options options = {.size = sizeof options, .threads = 1};
    return folder_setup(state) || ssm2d_context_create(&options, &context, NULL) ? -1 : 0;
}

static int teardown(void **state)
{
    ssm2d_context_destroy(context);
    return folder_teardown(state);
}

static double binomial(int n, int k)
{
    double x = 1;
    for (int i = 1; i <= k; i++) x = x * (n - k + i) / i;
    return k < 0 || k > n ? 0 : round(x);
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        ssm2d_error error_;                                                                        \
        if (call) fail_msg("%s", error_.line);                                                     \
    } while (0)

static const theory_system pascal = {{1, 1, 1, 0}, {1, 0}, {1, 0}};
static const theory_system counting = {{1, 1, 1, 1}, {1, 0}, {1, 1}};

static void test_pascal_kernel_has_full_rank(void **state)
{
    (void)state;
    double k[THEORY_CELLS];
    for (int side = 2; side <= THEORY_SIDE; side++) {
        CHECK(theory_kernel(context, &pascal, SSM2D_NORM_NONE, side, k, &error_));
        for (int i = 0; i < side; i++)
            for (int j = 0; j < side; j++)
                assert_true(k[(size_t)i * (size_t)side + (size_t)j] == binomial(j, i));
        assert_int_equal(theory_rank(k, side), side);
    }
}

static void test_s4nd_has_rank_one(void **state)
{
    (void)state;
    double k[THEORY_CELLS];
    for (int side = 2; side <= THEORY_SIDE; side += 11)
        for (uint64_t seed = 0; seed < 3; seed++) {
            CHECK(theory_s4nd_drawn(context, seed, side, k, &error_));
            assert_int_equal(theory_rank(k, side), 1);
        }
}

static void test_s4nd_is_a_special_case(void **state)
{
    (void)state;
    enum { SIDE = 12 };
    double s4nd[THEORY_CELLS], layer[THEORY_CELLS];
    const double rows = 0.9, cols = 0.3, a2 = 0.7, c2 = 1;
    const theory_system exact = {{cols, a2, 0, rows}, {0, 1}, {c2 * cols / a2, c2}};
    const theory_system printed = {{cols, 0, 0, rows}, {1, 1}, {0.5, 0.5}};
    CHECK(theory_s4nd(context, rows, cols, SIDE, s4nd, &error_));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            assert_true(fabs(s4nd[i * SIDE + j] - pow(rows, i) * pow(cols, j)) < 1e-14);
    CHECK(theory_kernel(context, &exact, SSM2D_NORM_NONE, SIDE, layer, &error_));
    assert_true(theory_difference(s4nd, layer, SIDE) < 1e-14);
    CHECK(theory_kernel(context, &printed, SSM2D_NORM_NONE, SIDE, layer, &error_));
    assert_true(theory_difference(s4nd, layer, SIDE) > 0.1);
    for (int i = 1; i < SIDE; i++)
        for (int j = 1; j < SIDE; j++) assert_true(layer[i * SIDE + j] == 0);
    assert_int_equal(theory_rank(layer, SIDE), 2);
}

static void test_kernel_counts_paths(void **state)
{
    (void)state;
    enum { SIDE = 16 };
    double none[THEORY_CELLS], half[THEORY_CELLS], relaxed[THEORY_CELLS];
    CHECK(theory_kernel(context, &counting, SSM2D_NORM_NONE, SIDE, none, &error_));
    CHECK(theory_kernel(context, &counting, SSM2D_NORM_HALF, SIDE, half, &error_));
    CHECK(theory_kernel(context, &counting, SSM2D_NORM_RELAXED, SIDE, relaxed, &error_));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            const int at = i * SIDE + j;
            assert_true(none[at] == binomial(i + j, i));
            assert_true(half[at] == ldexp(none[at], -i - j));
            assert_true(relaxed[at] == 1);
        }
}

static void test_singular_values_of_a_known_matrix(void **state)
{
    (void)state;
    const double matrix[] = {3, 0, 0, 4, 5, 0, 0, 0, 2}; /* of [3 0; 4 5]: sqrt(45) and sqrt(5) */
    double values[3];
    theory_singular_values(matrix, 3, values);
    assert_true(fabs(values[0] - sqrt(45)) < 1e-14 && fabs(values[1] - sqrt(5)) < 1e-14);
    assert_true(fabs(values[2] - 2) < 1e-14);
    const double zero[4] = {0};
    assert_int_equal(theory_rank(zero, 2), 0);
}

static void test_command_shows_every_topic(void **state)
{
    (void)state;
    TOOL("theory");
    assert_done();
    assert_non_null(strstr(tool.out, "the rank is full  5 of 5"));
    assert_non_null(strstr(tool.out, "of the 70 paths to (4,4)"));
    assert_non_null(strstr(tool.out, "A2 = A3 = 0 (paper)"));
    TOOL("theory", "pascal", "--side=24");
    assert_done();
    assert_non_null(strstr(tool.out, "24 of 24"));
    assert_null(strstr(tool.out, "paths"));
}

static void test_pictures_are_drawn(void **state)
{
    (void)state;
    static const char *const topics[] = {"pascal", "ranks", "s4nd", "paths", "relaxation"};
    static const char *const begins[] = {"\x89PNG", "<?xml", "%PDF-"};
    static const char *const endings[] = {"png", "svg", "pdf"};
    static const char *const sides[] = {"2", "5", "24"};
    size_t size;
    for (size_t t = 0; t < sizeof topics / sizeof *topics; t++)
        for (int k = 0; k < 3; k++) {
            const char *path = in_folder("%s.%s", topics[t], endings[k]);
            TOOL("theory", topics[t], "-o", path, "--side", sides[k]);
            assert_done();
            char *bytes = get_file(path, &size);
            assert_true(size > 1000 && !strncmp(bytes, begins[k], strlen(begins[k])));
            free(bytes);
        }
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    TOOL("theory", "-o", in_folder("a.png"));
    assert_refused(2, "theory", "--output");
    TOOL("theory", "pascal", "-o", in_folder("a.gif"));
    assert_refused(2, "theory", "a.gif");
    TOOL("theory", "rank");
    assert_refused(2, "theory", "rank");
    TOOL("theory", "ranks", "--side=25");
    assert_refused(2, "theory", "25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pascal_kernel_has_full_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(test_s4nd_has_rank_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_s4nd_is_a_special_case, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernel_counts_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_singular_values_of_a_known_matrix, setup, teardown),
        cmocka_unit_test_setup_teardown(test_command_shows_every_topic, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pictures_are_drawn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_options_are_refused, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
