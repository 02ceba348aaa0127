/* The files of `ssm2d bench guard`: kinds of processors, reading and refusals, and which direction
 * is worse. */
#include "io_helpers.h"

#include "tools/bench/guard_file.h"

#include <math.h>

static void processor_kinds_come_from_cpuinfo(void **state)
{
    (void)state;
    char kind[GUARD_KIND];
    guard_kind("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
               "model name\t: AMD EPYC (Genoa), 9B14\nstepping\t: 1\n\nprocessor\t: 1\n",
               "avx512", kind);
    assert_string_equal(kind, "authenticamd-25-17-amd-epyc-genoa-9b14-avx512");
    guard_kind("processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "baseline", kind);
    assert_string_equal(kind, "0x41-0xd0c-baseline");
    guard_kind("", "avx2", kind);
    assert_string_equal(kind, "unknown-avx2");
    guard_kind("model name", "avx2", kind); /* ends too early */
    assert_string_equal(kind, "unknown-avx2");
    guard_kind("model name : ../../x/\n", "avx2", kind); /* it is a file name */
    assert_string_equal(kind, "x-avx2");
    char text[4096] = "model name : ";
    memset(text + strlen(text), 'M', 2000);
    guard_kind(text, "avx2", kind);
    assert_true(strlen(kind) < GUARD_KIND);
}

static void written_ratios_read_back_unchanged(void **state)
{
    (void)state;
    char path[512];
    guard_ratios r = {.kind = "a-b", .threads = 2, .count = 2}, back;
    r.ratios[0] = (guard_ratio){"step", 1.0625, 0.05, 0};
    r.ratios[1] = (guard_ratio){"share", 0.75, 0.125, 1};
    snprintf(path, sizeof path, "%s/guard.json", folder);
    if (guard_write(context, path, &r, &error)) fail_msg("%s", error.line);
    if (guard_read(context, path, &back, &error)) fail_msg("%s", error.line);
    assert_string_equal(back.kind, "a-b");
    assert_int_equal(back.threads, 2);
    assert_int_equal(back.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(back.ratios[i].name, r.ratios[i].name);
        assert_true(fabs(back.ratios[i].value - r.ratios[i].value) < 1e-9);
        assert_true(fabs(back.ratios[i].noise - r.ratios[i].noise) < 1e-9);
        assert_int_equal(back.ratios[i].larger_is_better, r.ratios[i].larger_is_better);
    }
    assert_true(guard_find(&back, "share") == &back.ratios[1]);
    assert_null(guard_find(&back, "shar"));
}

static void worse_respects_the_direction_of_a_ratio(void **state)
{
    (void)state;
    const guard_ratio time = {"t", 2, 0.05, 0}, share = {"s", 0.5, 0.05, 1};
    assert_true(fabs(guard_worse(&time, 2.2) - 1.1) < 1e-12);
    assert_true(fabs(guard_worse(&time, 1.8) - 0.9) < 1e-12);
    assert_true(fabs(guard_worse(&share, 0.4) - 1.25) < 1e-12);
    assert_true(guard_worse(&share, 0.6) < 1);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"", "guard.json"},
        {"[]", "there is no list \"ratios\""},
        {"{\"processor\":\"x\",\"threads\":2}", "there is no list \"ratios\""},
        {"{\"threads\":2,\"ratios\":[]}", "processor"},
        {"{\"processor\":\"x\",\"threads\":0,\"ratios\":[]}", "\"threads\" is 0"},
        {"{\"processor\":\"x\",\"threads\":2,\"ratios\":[3]}", "must be a list of objects"},
        {"{\"processor\":\"x\",\"threads\":2,\"ratios\":[{\"name\":\"a\"}]}", "no \"value\""},
        {"{\"processor\":\"x\",\"threads\":2,\"ratios\":[{\"name\":\"a\",\"value\":-1}]}",
         "value=-1"},
        {"{\"processor\":\"x\",\"threads\":2,\"ratios\":[{\"name\":\"a\",\"value\":\"1\"}]}",
         "value=\"1\""},
        {"{\"processor\":\"x\",\"threads\":2,\"ratios\":[{\"name\":\"a\",\"value\":1,\"noise\":0,"
         "\"better\":\"up\"}]}",
         "better=\"up\": use larger or smaller"},
    };
    char path[512];
    guard_ratios r;
    snprintf(path, sizeof path, "%s/guard.json", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        io_put("guard.json", cases[i].text, strlen(cases[i].text));
        assert_int_not_equal(guard_read(context, path, &r, &error), SSM2D_OK);
        assert_line(cases[i].line);
    }
    static char many[8192] = "{\"processor\":\"x\",\"threads\":2,\"ratios\":[";
    for (int i = 0; i <= GUARD_RATIOS; i++) {
        char item[80];
        snprintf(item, sizeof item,
                 "%s{\"name\":\"%d\",\"value\":1,\"noise\":0,\"better\":\"larger\"}", i ? "," : "",
                 i);
        strcat(many, item);
    }
    strcat(many, "]}");
    io_put("guard.json", many, strlen(many));
    assert_int_not_equal(guard_read(context, path, &r, &error), SSM2D_OK);
    assert_line("more than 64 ratios");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processor_kinds_come_from_cpuinfo),
                                       cmocka_unit_test(written_ratios_read_back_unchanged),
                                       cmocka_unit_test(worse_respects_the_direction_of_a_ratio),
                                       cmocka_unit_test(bad_files_are_refused)};
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
