/* ssm2d layer: every golden case in both precisions with every algorithm; and every kind of bad
 * input. */
#include "tool_run.h"

#include "core/context.h"
#include "io/npy.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

static int lines_with(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the golden cases: folders. */
static int golden_cases(char **cases, int max_cases)
{
    int n = 0;
    DIR *dir = opendir(GOLDEN);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) && n < max_cases;)
        if (!strchr(entry->d_name, '.')) cases[n++] = strdup(entry->d_name);
    closedir(dir);
    qsort(cases, (size_t)n, sizeof *cases, by_name);
    return n;
}

/* The arrays to compare: K, y, and everything that begins with d except dy and EMA's parameters. */
static int expected_arrays(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += !strcmp(entry->d_name, "K.npy") || !strcmp(entry->d_name, "y.npy")
             || (entry->d_name[0] == 'd' && strcmp(entry->d_name, "dy.npy")
                 && strcmp(entry->d_name, "delta.npy"));
    closedir(dir);
    return n;
}

static void check_golden(const char *precision)
{
    char *cases[64], folder[512];
    int n = golden_cases(cases, 64);
    assert_true(n >= 35);
    for (int i = 0; i < n; i++) {
        snprintf(folder, sizeof folder, "%s/%s", GOLDEN, cases[i]);
        for (int a = -1; a < 0 || ssm2d_kind_algorithm("ssm2d", a); a++) {
            const char *algorithm = a < 0 ? "auto" : ssm2d_kind_algorithm("ssm2d", a);
            if (short_tests() && (i + a + 1) % 4) continue; /* one algorithm for each case */
            TOOL("layer", folder, "--check", "--algo", algorithm, "--precision", precision);
            if (!strcmp(algorithm, "scan") && strstr(cases[i], "trunc")) {
                assert_refused(1, "layer", "trunc"); /* a recurrence cannot truncate */
                continue;
            }
            if (!strncmp(cases[i], "s4nd", 4) && !strcmp(algorithm, "scan")) {
                assert_refused(1, "layer", "algorithm=scan", "s4nd");
                continue;
            }
            if (tool.code)
                fail_msg("%s, %s, %s: %s%s", cases[i], precision, algorithm, tool.out, tool.err);
            assert_int_equal(lines_with(tool.out, "  ok\n"), expected_arrays(folder));
            assert_int_equal(lines_with(tool.out, "\n"), expected_arrays(folder));
        }
        free(cases[i]);
    }
}

static void test_golden_cases_pass_in_double(void **state)
{
    (void)state;
    check_golden("double");
}

static void test_golden_cases_pass_in_float(void **state)
{
    (void)state;
    check_golden("float");
}

static void test_out_writes_every_array(void **state)
{
    (void)state;
    ssm2d_context *context;
    ssm2d_error error;
    npy_array got, expected;
    TOOL("layer", GOLDEN "/24_cplx_7x7_d2_layernorm", "--out", in_folder("new/folder"),
         "--precision=float");
    assert_done();
    assert_int_equal(count_files(in_folder("new/folder")),
                     expected_arrays(GOLDEN "/24_cplx_7x7_d2_layernorm"));
    char said[32];
    snprintf(said, sizeof said, "/new/folder: %d arrays\n", count_files(in_folder("new/folder")));
    assert_non_null(strstr(tool.out, said));
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    static const char *const names[] = {"y", "dK", "domega", "dA_angle"};
    for (int i = 0; i < 4; i++) {
        char path[512];
        snprintf(path, sizeof path, GOLDEN "/24_cplx_7x7_d2_layernorm/%s.npy", names[i]);
        assert_int_equal(npy_read(context, path, &expected, &error), SSM2D_OK);
        if (npy_read(context, in_folder("new/folder/%s.npy", names[i]), &got, &error))
            fail_msg("%s", error.line);
        assert_int_equal(got.type, NPY_FLOAT32);
        assert_int_equal(got.rank, expected.rank);
        assert_memory_equal(got.shape, expected.shape, (size_t)got.rank * sizeof *got.shape);
        for (size_t k = 0; k < got.count; k++)
            assert_true(fabs(((float *)got.data)[k] - ((double *)expected.data)[k]) < 1e-3);
        npy_free(context, &got);
        npy_free(context, &expected);
    }
    ssm2d_context_destroy(context);
    /* A second run over the first one. */
    TOOL("layer", GOLDEN "/24_cplx_7x7_d2_layernorm", "--out", in_folder("new/folder"), "--check");
    assert_done();
    assert_int_equal(count_files(in_folder("new/folder")),
                     expected_arrays(GOLDEN "/24_cplx_7x7_d2_layernorm"));
}

/* Copies a case to the test's folder, to be damaged. */
static void copy_case(void) { copy_folder(GOLDEN "/05_real_5x3_d2_half", in_folder("case")); }

/* Changes sign, exponent and first digits of the first element of an array of doubles. */
static void spoil_first(const char *path, uint8_t high, uint8_t next)
{
    size_t size;
    char *bytes = get_file(path, &size);
    size_t start = 10 + (size_t)(uint8_t)bytes[8] + 256 * (size_t)(uint8_t)bytes[9];
    bytes[start + 7] = (char)high;
    bytes[start + 6] = (char)next;
    put_file(path, bytes, size);
    free(bytes);
}

static void test_check_fails_beyond_tolerance(void **state)
{
    (void)state;
    copy_case();
    spoil_first(in_folder("case/y.npy"), 0x40, 0x59); /* about 100 */
    TOOL("layer", in_folder("case"), "--check");
    assert_ended(1, "layer", "1 of 8");
    assert_int_equal(lines_with(tool.out, "FAIL"), 1);
    assert_non_null(strstr(tool.out, "y "));
    assert_int_equal(lines_with(tool.out, "  ok\n"), 7);
    TOOL("layer", in_folder("case"), "--check", "--out", in_folder("./case"));
    assert_refused(2, "layer", "case");
    TOOL("layer", in_folder("case"), "--check", "--out", in_folder("out"));
    assert_ended(1, "layer", "1 of 8");
    /* A NaN in the reference is a difference as well. */
    spoil_first(in_folder("case/y.npy"), 0x7f, 0xf8);
    TOOL("layer", in_folder("case"), "--check");
    assert_ended(1, "layer", "1 of 8");
}

/* The case is refused with a message that contains these words, and nothing is written. */
static void assert_case_refused(const char *part)
{
    TOOL("layer", in_folder("case"), "--out", in_folder("out"), "--check");
    assert_refused(1, "layer", part);
}

static void test_bad_config_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *line;
    } edits[] = {
        {"\"d_state\": 4", "\"d_state\": 0", "\"d_state\" is 0"},
        {"\"directions\": 2", "\"directions\": 3", "\"directions\" is 3"},
        {"\"L1\": 5", "\"L1\": 0", "\"L1\" is 0"},
        {"\"L2\": 3", "\"L2\": -4", "\"L2\" is -4"},
        {"\"L2\": 3", "\"L2\": 3.5", "L2"},
        {"\"batch\": 2", "\"batch\": \"two\"", "batch"},
        {"\"norm\": \"half\"", "\"norm\": \"hlaf\"", "half"},
        {"\"n_ssm\"", "\"n_sms\"", "n_ssm"},
        {"\"kind\": \"ssm2d\"", "\"kind\": \"s4nd\"", "is not a known key"},
        {"\"kind\": \"ssm2d\"", "\"kind\": \"ema\"", "\"L\" is missing"},
        {"\"kind\": \"ssm2d\"", "\"kind\": \"cnn\"",
         "\"kind\" is \"cnn\": use ssm2d, s4nd, ema, conv, "
         "ssm2d_selective, ss2d, mamba2d, scan2d, chimera or roesser"},
        {"\"kind\": \"ssm2d\"", "\"kund\": \"ssm2d\"", "\"kind\" is missing"},
        {"\"channels\":", "\"channels\" ", "case.json"},
    };
    copy_case();
    size_t size;
    char *good = get_file(in_folder("case/case.json"), &size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        put_text(in_folder("case/case.json"), good);
        edit_file(in_folder("case/case.json"), edits[i].old, edits[i].new);
        assert_case_refused(edits[i].line);
        assert_non_null(strstr(tool.err, "case.json"));
    }
    free(good);
}

static void test_bad_config_of_other_kinds_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *old, *new, *line;
    } edits[] = {
        {"s4nd_02_5x7", "\"d_state\": 8", "\"d_state\": 7", "d_state=7: must be even"},
        {"s4nd_02_5x7", "\"d_state\": 8", "\"d_state\": 8, \"rate\": 0", "\"rate\" is 0"},
        {"s4nd_02_5x7", "\"n_ssm\": 2", "\"n_ssm\": 3", "log_dt.npy: the shape is (2, 2)"},
        {"s4nd_02_5x7", "\"L1\": 5", "\"L\": 5", "\"L1\" is missing"},
        {"ema_02_uni_N16_trunc5", "\"trunc\": 5", "\"trunc\": -5", "\"trunc\" is -5"},
        {"ema_02_uni_N16_trunc5", "\"trunc\": 5", "\"trnuc\": 5", "did you mean \"trunc\"?"},
        {"ema_02_uni_N16_trunc5", "\"L\": 20", "\"L\": 21", "u.npy: the shape is (20, 2, 6)"},
        {"ema_02_uni_N16_trunc5", "\"bidirectional\": false", "\"bidirectional\": true",
         "alpha.npy: the shape is (6, 16, 1), the configuration needs (12, 16, 1)"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char from[512];
        snprintf(from, sizeof from, GOLDEN "/%s", edits[i].folder);
        copy_folder(from, in_folder("case"));
        edit_file(in_folder("case/case.json"), edits[i].old, edits[i].new);
        assert_case_refused(edits[i].line);
        assert_int_equal(rename(in_folder("case"), in_folder("case%zu", i)), 0);
    }
}

static void test_missing_files_are_named(void **state)
{
    (void)state;
    TOOL("layer", in_folder("nowhere"), "--check");
    assert_refused(1, "layer", "nowhere/case.json");
    copy_case();
    remove(in_folder("case/dC.npy")); /* only used for comparison */
    TOOL("layer", in_folder("case"), "--check");
    assert_ended(1, "layer", "dC.npy");
    static const char *const names[] = {"u", "dy", "omega", "A"};
    for (int i = 0; i < 4; i++) {
        rename(in_folder("case/%s.npy", names[i]), in_folder("away"));
        assert_case_refused(in_folder("case/%s.npy", names[i]));
        rename(in_folder("away"), in_folder("case/%s.npy", names[i]));
    }
    remove(in_folder("case/case.json"));
    assert_case_refused("case.json");
}

static void test_truncated_arrays_are_refused(void **state)
{
    (void)state;
    copy_case();
    size_t size;
    char *bytes = get_file(in_folder("case/u.npy"), &size);
    put_file(in_folder("case/u.npy"), bytes, size - 8);
    assert_case_refused("u.npy");
    put_file(in_folder("case/u.npy"), bytes, 20);
    assert_case_refused("u.npy");
    put_file(in_folder("case/u.npy"), bytes, 0);
    assert_case_refused("u.npy");
    free(bytes);
}

static void test_wrong_shapes_are_refused(void **state)
{
    (void)state;
    copy_case();
    size_t size;
    char *bytes = get_file(in_folder("case/dy.npy"), &size);
    put_file(in_folder("case/B.npy"), bytes, size);
    assert_case_refused("B.npy: the shape is (");
    assert_non_null(strstr(tool.err, "the configuration needs (2, "));
    free(bytes);
}

static void test_nan_is_refused_unless_allowed(void **state)
{
    (void)state;
    copy_case();
    spoil_first(in_folder("case/A.npy"), 0x7f, 0xf8);
    assert_case_refused("A[");
    assert_non_null(strstr(tool.err, "nan"));
}

static void test_unwritable_output_is_an_error(void **state)
{
    (void)state;
    const char *good = GOLDEN "/05_real_5x3_d2_half";
    put_text(in_folder("file"), "x");
    TOOL("layer", good, "--out", in_folder("file/below"));
    assert_refused(1, "layer", in_folder("file: is a file"));
    TOOL("layer", good, "--out", in_folder("file"));
    assert_refused(1, "layer", "file");
    TOOL("layer", good, "--out", "/proc/ssm2d");
    assert_refused(1, "layer", "/proc/ssm2d");
    /* a result cannot replace a folder; the temporary file is removed */
    assert_int_equal(mkdir(in_folder("out"), 0777), 0);
    assert_int_equal(mkdir(in_folder("out/K.npy"), 0777), 0);
    TOOL("layer", good, "--out", in_folder("out"));
    assert_refused(1, "layer", "K.npy");
    assert_int_equal(count_files(in_folder("out")), 0);
}

static void test_wrong_usage_is_refused(void **state)
{
    (void)state;
    TOOL("layer", GOLDEN "/05_real_5x3_d2_half");
    assert_refused(2, "layer", "--out");
    TOOL("layer", GOLDEN "/05_real_5x3_d2_half", "--check", "--precision", "half");
    assert_refused(2, "layer", "--precision=half");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden_cases_pass_in_double),   TEST(test_golden_cases_pass_in_float),
        TEST(test_out_writes_every_array),        TEST(test_check_fails_beyond_tolerance),
        TEST(test_bad_config_is_refused),         TEST(test_bad_config_of_other_kinds_is_refused),
        TEST(test_missing_files_are_named),       TEST(test_truncated_arrays_are_refused),
        TEST(test_wrong_shapes_are_refused),      TEST(test_nan_is_refused_unless_allowed),
        TEST(test_unwritable_output_is_an_error), TEST(test_wrong_usage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
