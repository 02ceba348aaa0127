/* What all subcommands have in common: help, exit codes, suggestions, and messages about wrong
 * options. */
#include "tool_run.h"

#include "ssm2d.h"

enum { MAX_COMMANDS = 32 };

/* The commands that `ssm2d --help` lists. */
static int commands(char names[MAX_COMMANDS][32])
{
    int n = 0;
    TOOL("--help");
    const char *line = strstr(tool.out, "\ncommands:\n");
    assert_non_null(line);
    for (line = strchr(line + 1, '\n') + 1; *line == ' ' && n < MAX_COMMANDS;
         line = strchr(line, '\n') + 1)
        assert_int_equal(sscanf(line, "%31s", names[n++]), 1);
    return n;
}

static void assert_narrow(const char *text)
{
    while (*text) {
        size_t width = strcspn(text, "\n");
        if (width > 80) fail_msg("wider than 80 columns: %.*s", (int)width, text);
        text += width + (text[width] == '\n');
    }
}

static void test_help_lists_commands_and_environment(void **state)
{
    (void)state;
    TOOL("--help");
    assert_done();
    assert_narrow(tool.out);
    assert_non_null(strstr(tool.out, "\n  layer "));
    assert_non_null(strstr(tool.out, "\n  kernels "));
    assert_non_null(strstr(tool.out, "\n  filter "));
    assert_non_null(strstr(tool.out, "SSM2D_CPU"));
    assert_non_null(strstr(tool.out, "--threads"));
    TOOL("-h");
    assert_done();
}

static void test_no_command_is_wrong_usage(void **state)
{
    (void)state;
    tool_run((const char *const[]){"ssm2d", NULL});
    assert_int_equal(tool.code, 2);
    assert_string_equal(tool.out, "");
    assert_non_null(strstr(tool.err, "usage: ssm2d COMMAND"));
}

static void test_version_is_printed_by_each_word(void **state)
{
    (void)state;
    static const char *const words[] = {"--version", "-V", "version"};
    for (int i = 0; i < 3; i++) {
        TOOL(words[i]);
        assert_done();
        static const char expected[] = "ssm2d " SSM2D_VERSION "\nreads PNG, JPEG, BMP";
        assert_int_equal(strncmp(tool.out, expected, strlen(expected)), 0);
    }
    TOOL("version", "train");
    assert_refused(2, "version", "train");
}

/* Both command lines print the same. */
static void assert_same_help(const char *const *help, const char *const *option)
{
    tool_run(help);
    assert_done();
    char *first = strdup(tool.out);
    tool_run(option);
    assert_done();
    assert_string_equal(tool.out, first);
    free(first);
}

static void test_help_command_prints_what_the_option_does(void **state)
{
    (void)state;
#define WORDS(...) ((const char *const[]){"ssm2d", __VA_ARGS__, NULL})
    assert_same_help(WORDS("help"), WORDS("--help"));
    assert_same_help(WORDS("help", "--help"), WORDS("--help"));
    assert_same_help(WORDS("help", "train"), WORDS("train", "--help"));
    assert_same_help(WORDS("help", "bench"), WORDS("bench", "--help"));
    assert_same_help(WORDS("help", "bench", "layer"), WORDS("bench", "layer", "--help"));
#undef WORDS
    TOOL("help", "trian");
    assert_refused(2, "", "trian", "train");
    TOOL("help", "bench", "leyar");
    assert_refused(2, "bench", "leyar");
    TOOL("help", "train", "layer");
    assert_refused(2, "help", "layer");
    TOOL("hepl");
    assert_refused(2, "", "hepl", "help");
}

/* For an option that is a setting the error says how to set it. */
static void test_option_that_is_a_setting_suggests_set(void **state)
{
    (void)state;
    TOOL("train", "--flip");
    assert_refused(2, "train", "--flip", "--set flip=true");
    TOOL("train", "--flip", "false");
    assert_refused(2, "train", "--set flip=false");
    TOOL("train", "--flip", "--out", "x");
    assert_refused(2, "train", "--set flip=true");
    TOOL("train", "--crop-padding=4");
    assert_refused(2, "train", "--set crop_padding=4");
    TOOL("train", "--dim");
    assert_refused(2, "train", "--set dim=VALUE");
    TOOL("train", "--directions", "2");
    assert_refused(2, "train", "--set mixer.directions=2");
    TOOL("bench", "train", "--depth=3");
    assert_refused(2, "bench train", "--set depth=3");
    TOOL("bench", "train", "--flip");
    assert_refused(2, "bench train", "--flip");
    TOOL("filter", "--dim", "3");
    assert_refused(2, "filter", "--dim");
}

/* The options of a command, in the order of its help. */
static int count_options(const char *text)
{
    int count = 0;
    for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
        count += !strncmp(at, "\n      --", 9) || !strncmp(at, "\n  -o, --", 9);
    return count;
}

/* The help of a command with many options shows the common ones, and all with --help=all. */
static void test_long_help_has_every_option_in_a_group(void **state)
{
    (void)state;
    int said = 0;
    TOOL("train", "--help");
    assert_done();
    const int usual = count_options(tool.out);
    assert_in_range(usual, 15, 25);
    const char *last = strstr(tool.out, "ssm2d train --help=all lists all ");
    assert_non_null(last);
    assert_int_equal(sscanf(last, "ssm2d train --help=all lists all %d options", &said), 1);
    assert_null(strstr(tool.out, "--beta1"));
    TOOL("train", "--help=all");
    assert_done();
    assert_int_equal(count_options(tool.out), said + 1); /* and --threads */
    assert_non_null(strstr(tool.out, "\nlearning rate:\n"));
    assert_non_null(strstr(tool.out, "\nnames for --recipe:\n"));
    TOOL("train", "--help=some");
    assert_refused(2, "train", "--help");
    TOOL("eval", "--help=all"); /* which has few */
    assert_done();
    char *all = strdup(tool.out);
    TOOL("eval", "--help");
    assert_string_equal(tool.out, all);
    free(all);
}

static void test_help_of_every_command_is_narrow(void **state)
{
    (void)state;
    char names[MAX_COMMANDS][32];
    int n = commands(names);
    assert_true(n >= 3);
    for (int i = 0; i < n; i++) {
        TOOL(names[i], "--help");
        assert_done();
        assert_narrow(tool.out);
        assert_non_null(strstr(tool.out, "usage: ssm2d"));
        assert_non_null(strstr(tool.out, "--threads N"));
    }
    /* --help takes precedence over anything wrong or missing after it. */
    TOOL("layer", "--help", "--no-such-thing");
    assert_done();
    TOOL("kernels", "--help");
    assert_non_null(strstr(tool.out, "share_directions"));
}

static void test_unknown_command_is_refused_with_a_suggestion(void **state)
{
    (void)state;
    TOOL("layr");
    assert_refused(2, "", "layr", "layer");
    TOOL("xyzzyplugh");
    assert_refused(2, "", "xyzzyplugh");
    TOOL("--hepl");
    assert_refused(2, "", "--hepl");
}

static void test_unknown_option_is_refused_with_a_suggestion(void **state)
{
    (void)state;
    TOOL("layer", "x", "--chek");
    assert_refused(2, "layer", "--chek", "--check");
    TOOL("layer", "x", "--presicion=float");
    assert_refused(2, "layer", "--presicion", "--precision");
    TOOL("kernels", "--tread", "3");
    assert_refused(2, "kernels", "--tread", "--threads");
    TOOL("filter", "--xyzzyplugh");
    assert_refused(2, "filter", "--xyzzyplugh");
    TOOL("filter", "-z");
    assert_refused(2, "filter", "-z");
    TOOL("filter", "--bad\tname\x1b[2J");
    assert_refused(2, "filter", "--bad?name?[2J");
}

static void test_values_out_of_bounds_are_refused(void **state)
{
    (void)state;
    TOOL("layer", "x", "--check", "--algo", "fast");
    assert_refused(2, "layer", "--algo=fast");
    TOOL("layer", "x", "--check", "--threads", "-1");
    assert_refused(2, "layer", "--threads=-1");
    TOOL("layer", "x", "--check", "--threads=two");
    assert_refused(2, "layer", "--threads=two");
    TOOL("layer", "x", "--check", "--threads=2x");
    assert_refused(2, "layer", "--threads=2x");
    TOOL("layer", "x", "--check", "--threads=99999999999999999999");
    assert_refused(2, "layer", "--threads=99999999999999999999");
    TOOL("filter", "x", "-o", "y.png", "--angle=nan");
    assert_refused(2, "filter", "--angle=nan");
    TOOL("filter", "x", "-o", "y.png", "--angle", "361");
    assert_refused(2, "filter", "--angle=361");
    TOOL("kernels", "--figure2", "-o", "x.png", "--rows", "");
    assert_refused(2, "kernels", "--rows=");
    TOOL("layer", "", "--check");
    assert_refused(2, "layer", "CASE_DIR");
}

static void test_missing_or_extra_words_are_refused(void **state)
{
    (void)state;
    TOOL("layer", "--check");
    assert_refused(2, "layer", "CASE_DIR");
    TOOL("layer", "a", "b", "--check");
    assert_refused(2, "layer", "b");
    TOOL("layer", "a", "--out");
    assert_refused(2, "layer", "--out");
    TOOL("layer", "a", "--check=yes");
    assert_refused(2, "layer", "--check");
    TOOL("filter", "a");
    assert_refused(2, "filter", "--output");
    /* After -- nothing is an option. */
    TOOL("layer", "--check", "--", "--no-such-folder");
    assert_refused(1, "layer", "--no-such-folder/case.json");
}

static void test_bad_environment_is_refused(void **state)
{
    (void)state;
    setenv("SSM2D_CPU", "abacus", 1);
    TOOL("kernels", "--figure2", "-o", in_folder("x.png"));
    unsetenv("SSM2D_CPU");
    assert_refused(1, "kernels", "abacus");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_lists_commands_and_environment),
        cmocka_unit_test(test_no_command_is_wrong_usage),
        cmocka_unit_test(test_version_is_printed_by_each_word),
        cmocka_unit_test(test_help_of_every_command_is_narrow),
        cmocka_unit_test(test_long_help_has_every_option_in_a_group),
        cmocka_unit_test(test_unknown_command_is_refused_with_a_suggestion),
        cmocka_unit_test(test_unknown_option_is_refused_with_a_suggestion),
        cmocka_unit_test(test_values_out_of_bounds_are_refused),
        cmocka_unit_test(test_missing_or_extra_words_are_refused),
        cmocka_unit_test(test_bad_environment_is_refused),
        cmocka_unit_test(test_help_command_prints_what_the_option_does),
        cmocka_unit_test(test_option_that_is_a_setting_suggests_set),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
