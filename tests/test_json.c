/* JSON files, and layer configurations in them. */
#include "io_helpers.h"

#include "io/json.h"
#include "core/suggest.h"
#include "layers/ssm2d/ssm2d_config.h"
#include "mixers/layer_json.h"

#include <errno.h>

static ssm2d_status parse(const char *text, size_t size, cJSON **root)
{
    char *exact = malloc(size + !size); /* so that reading beyond it is detected */
    memcpy(exact, text, size);
    ssm2d_status status = json_parse("a.json", exact, size, root, &error);
    free(exact);
    if (status) assert_null(*root);
    return status;
}

static cJSON *good(const char *text)
{
    cJSON *root;
    if (parse(text, strlen(text), &root)) fail_msg("%s: %s", text, error.line);
    return root;
}

static void json_is_parsed(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}",
                                        " [1, 2.5e3, -0] \r\n\t",
                                        "\"a \\\" \\u00e9 {[\"",
                                        "null",
                                        "1",
                                        "{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}",
                                        "\"\\\\u0000\"",
                                        "[\"}\", \"]\"]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) cJSON_Delete(good(texts[i]));
    char deep[129];
    memset(deep, '[', 64);
    memset(deep + 64, ']', 64);
    deep[128] = 0;
    cJSON_Delete(good(deep));
}

static void refuses_bad_json(void **state)
{
    (void)state;
#define TEXT(s) s, sizeof s - 1
    static const struct {
        const char *text;
        size_t size;
        const char *line;
    } cases[] = {
        {TEXT(""), "a.json: is empty"},
        {TEXT("  \n"), "a.json: line"},
        {TEXT("{\n\"a\": 1,\n\"b\" 2\n}"), "a.json: line 3: not valid JSON: found 2 after \""},
        {TEXT("{\n\"a\": 1,\n}"), "a.json: line 3: not valid JSON: found } after ,"},
        {TEXT("{\"a\": 1"), "a.json: line 1: "},
        {TEXT("[1, 2\n\n"), "a.json: line"},
        {TEXT("[1,"), "a.json: line 1"},
        {TEXT("\"abc"), "a.json: line 1"},
        {TEXT("\"abc\\"), "a.json: line 1"},
        {TEXT("{} {}"), "a.json: line 1: unexpected text after the JSON: {}"},
        {TEXT("{}\n\nx"), "a.json: line 3: unexpected text after the JSON: x"},
        {TEXT("{}\0"), "a.json: line 1 has a zero byte"},
        {TEXT("{\n\"a\0b\": 1}"), "a.json: line 2 has a zero byte"},
        {TEXT("{\"a\\u0000b\": 1}"), "a.json: line 1 has an escaped zero byte"},
        {TEXT("[\n\"a\nb\"]"), "a.json: line 2 has a control character in a string"},
        {TEXT("{\"a\": 1, \"b\": 2, \"a\": 3}"), "a.json: \"a\" is given twice"},
        {TEXT("[{\"x\": {\"b\": 1, \"b\": 1}}]"), "a.json: \"b\" is given twice"},
        {TEXT("{\"\\n\": 1, \"\\n\": 3}"), "a.json: \"?\" is given twice"},
        {TEXT("[nan]"), "a.json: line 1: not valid JSON: found nan] after ["},
        {TEXT("tru"), "a.json: line 1"},
        {TEXT("-"), "a.json: line 1"},
        {TEXT("]"), "a.json: line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *root;
        if (!parse(cases[i].text, cases[i].size, &root)) fail_msg("accepted: %s", cases[i].text);
        assert_line(cases[i].line);
    }
    char deep[1000];
    cJSON *root;
    memset(deep, '[', sizeof deep);
    deep[10] = '\n';
    assert_int_equal(parse(deep, sizeof deep, &root), SSM2D_ERROR_ARGUMENT);
    assert_line("a.json: line 2 is nested deeper than 64");
}

static void reads_files(void **state)
{
    (void)state;
    cJSON *root;
    assert_int_equal(json_read(context, io_put("a.json", "{\"a\": 1}", 8), &root, &error),
                     SSM2D_OK);
    assert_true(cJSON_HasObjectItem(root, "a"));
    cJSON_Delete(root);
    assert_int_equal(json_read(context, io_put("a.json", "{\"a\" 1}", 7), &root, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("/a.json: line 1: ");
    assert_int_equal(json_read(context, folder, &root, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("is a folder");
    assert_int_equal(json_read(context, io_path("none.json"), &root, &error), SSM2D_ERROR_SYSTEM);
    assert_line("/none.json: cannot be opened");
    assert_int_equal(json_read(context, "/dev/zero", &root, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/dev/zero: has more than 16777216 bytes");
    assert_null(root);
}

/* Sorting keeps an object of many keys cheap. */
static void finds_duplicates_among_many(void **state)
{
    (void)state;
    enum { KEYS = 100000 };
    char *text = malloc(KEYS * 16 + 2), *at = text;
    for (int i = 0; i < KEYS; i++) at += sprintf(at, "%c\"%d\":0", i ? ',' : '{', i);
    sprintf(at, "}");
    cJSON *root = good(text);
    cJSON_Delete(root);
    sprintf(at, ",\"77777\":0}");
    assert_int_equal(parse(text, strlen(text), &root), SSM2D_ERROR_ARGUMENT);
    assert_line("\"77777\" is given twice");
    free(text);
}

static void fields_are_read(void **state)
{
    (void)state;
    cJSON *o = good("{\"n\": 5, \"x\": 2.5, \"s\": \"te\\u001bxt\", \"t\": true, \"f\": false, "
                    "\"z\": null, \"l\": [], \"o\": {},"
                    " \"big\": 1e99, \"one\": 1.0}");
    int n = 77;
    const char *s = "before";
    assert_int_equal(json_get_int("a.json", o, "n", JSON_REQUIRED, 1, 5, &n, &error), SSM2D_OK);
    assert_int_equal(n, 5);
    assert_int_equal(json_get_int("a.json", o, "one", JSON_REQUIRED, -1, 5, &n, &error), SSM2D_OK);
    assert_int_equal(n, 1);
    assert_int_equal(json_get_int("a.json", o, "none", JSON_OPTIONAL, 1, 5, &n, &error), SSM2D_OK);
    assert_int_equal(json_get_int("a.json", o, "N", JSON_REQUIRED, 1, 5, &n, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("a.json: \"N\" is missing");
    assert_int_equal(json_get_int("a.json", o, "n", JSON_REQUIRED, 6, 9, &n, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("a.json: \"n\" is 5: use a whole number from 6 to 9");
    assert_int_equal(json_get_int("a.json", o, "x", JSON_REQUIRED, 1, 5, &n, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("\"x\" is 2.5: use");
    assert_int_equal(json_get_int("a.json", o, "big", JSON_REQUIRED, 1, INT32_MAX, &n, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("\"big\" is 1e+99: use");
    assert_int_equal(json_get_int("a.json", o, "s", JSON_OPTIONAL, 1, 5, &n, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("\"s\" is \"te?xt\": use");
    assert_int_equal(json_get_int("a.json", o, "z", JSON_OPTIONAL, 1, 5, &n, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("\"z\" is null: use");
    assert_int_equal(n, 1);
    assert_int_equal(json_get_string("a.json", o, "none", JSON_OPTIONAL, &s, &error), SSM2D_OK);
    assert_string_equal(s, "before");
    assert_int_equal(json_get_string("a.json", o, "o", JSON_OPTIONAL, &s, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("\"o\" is an object: use a string");
    assert_int_equal(json_get_string("a.json", o, "s", JSON_OPTIONAL, &s, &error), SSM2D_OK);
    assert_string_equal(s, "te\033xt");
    cJSON_Delete(o);
    o = good("[1]");
    assert_int_equal(json_get_int("a.json", o, "n", JSON_OPTIONAL, 1, 5, &n, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("a.json: \"n\" must be in an object {..}, not in a list");
    cJSON_Delete(o);
}

/* ---- layer configurations -------------------------------------------------------------------- */

static const char *const others[] = {"kind", "batch", "L1", NULL};

static ssm2d_status configure(const char *text, ssm2d_config *config)
{
    cJSON *o = good(text);
    ssm2d_layer layer = layer_of(&layer_ssm2d, config);
    ssm2d_status status = layer_from_json("case.json", o, others, &layer, &error);
    *config = *ssm2d_config_of(&layer.values);
    cJSON_Delete(o);
    return status;
}

static void every_layer_field_is_read(void **state)
{
    (void)state;
    ssm2d_config c = ssm2d_config_default();
    assert_int_equal(
        configure("{\"kind\": \"ssm2d\", \"batch\": [], \"channels\": 12, \"init\": \"authors\", "
                  "\"d_state\": 3, \"n_ssm\": 5, \"directions\": 4,"
                  "\"pair\": \"columns\", \"average\": true, \"norm\": \"paper\", "
                  "\"values\": \"cartesian\","
                  "\"share_directions\": true, \"c_per_channel\": true, \"skip\": "
                  "false, \"layer_norm\": true,"
                  "\"trunc_rows\": 6, \"trunc_cols\": 7, \"assign\": \"paper\"}",
                  &c),
        SSM2D_OK);
    const ssm2d_config expected = {12,
                                   LAYER_INIT_AUTHORS,
                                   3,
                                   5,
                                   4,
                                   SSM2D_PAIR_COLUMNS,
                                   1,
                                   SSM2D_NORM_PAPER,
                                   SSM2D_CARTESIAN,
                                   1,
                                   1,
                                   0,
                                   1,
                                   6,
                                   7,
                                   SSM2D_ASSIGN_PAPER};
    /* what follows the last field is padding */
    assert_memory_equal(&c, &expected, offsetof(ssm2d_config, assign) + sizeof c.assign);
    assert_int_equal(configure("{\"d_state\": 4}", &c), SSM2D_OK); /* the rest stays */
    assert_int_equal(c.d_state, 4);
    assert_int_equal(c.n_ssm, 5);
}

/* The keys of a golden case. */
static void golden_cases_are_read(void **state)
{
    (void)state;
    ssm2d_config c = ssm2d_config_default();
    assert_int_equal(configure("{\"kind\": \"ssm2d\", \"complex\": false, \"complex_form\": "
                               "\"cartesian\", \"normalize\": true,"
                               "\"trunc\": [3, 4], \"channels\": 2}",
                               &c),
                     SSM2D_OK);
    assert_int_equal(c.values, SSM2D_REAL);
    assert_int_equal(c.layer_norm, 1);
    assert_int_equal(c.trunc_rows, 3);
    assert_int_equal(c.trunc_cols, 4);
    assert_int_equal(
        configure("{\"trunc\": null, \"complex\": true, \"complex_form\": \"cartesian\"}", &c),
        SSM2D_OK);
    assert_int_equal(c.values, SSM2D_CARTESIAN);
    assert_int_equal(c.trunc_rows + c.trunc_cols, 0);
    assert_int_equal(configure("{\"complex\": true, \"complex_form\": \"polar\"}", &c), SSM2D_OK);
    assert_int_equal(c.values, SSM2D_POLAR);
    assert_int_equal(
        configure("{\"complex\": true, \"complex_form\": null, \"normalize\": false}", &c),
        SSM2D_OK);
    assert_int_equal(c.values, SSM2D_POLAR);
    assert_int_equal(c.layer_norm, 0);
}

static void refuses_bad_configurations(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[]", "case.json: the configuration is a list: use an object {..}"},
        {"{\"directions\": 3}", "case.json: \"directions\" is 3: use 1, 2 or 4"},
        {"{\"directions\": 0}", "case.json: \"directions\" is 0: use 1, 2 or 4"},
        {"{\"directions\": \"2\"}", "case.json: \"directions\" is \"2\": use 1, 2 or 4"},
        {"{\"d_state\": 0}", "case.json: \"d_state\" is 0: use a whole number from 1 to"},
        {"{\"d_state\": 1.5}", "case.json: \"d_state\" is 1.5: "},
        {"{\"d_state\": 1e300}", "case.json: \"d_state\" is 1e+300: use a whole number"},
        {"{\"d_state\": -1e999}", "case.json: \"d_state\" is -inf: use a whole number"},
        {"{\"d_state\": null}", "case.json: \"d_state\" is null: use"},
        {"{\"norm\": \"relaxd\"}",
         "case.json: \"norm\" is \"relaxd\": use none, half, relaxed or paper"},
        {"{\"norm\": 1}", "case.json: \"norm\" is 1: use none, half, relaxed or paper"},
        {"{\"skip\": 1}", "case.json: \"skip\" is 1: use true or false"},
        {"{\"normalize\": \"yes\"}", "case.json: \"normalize\" is \"yes\": use true or false"},
        {"{\"complex\": 1}", "case.json: \"complex\" is 1: use true or false"},
        {"{\"complex_form\": \"polar\"}", "case.json: \"complex_form\" is polar, "},
        {"{\"complex\": true, \"complex_form\": \"round\"}",
         "\"complex_form\" is \"round\": use polar or cartesian"},
        {"{\"complex\": true, \"complex_form\": 1}",
         "\"complex_form\" is 1: use polar or cartesian"},
        {"{\"complex\": true, \"values\": \"polar\"}",
         "\"values\" and \"complex\" set the same field"},
        {"{\"layer_norm\": true, \"normalize\": false}",
         "\"layer_norm\" and \"normalize\" set the same field"},
        {"{\"trunc\": [1, 1], \"trunc_cols\": 3}",
         "\"trunc_cols\" and \"trunc\" set the same field"},
        {"{\"trunc\": [1]}", "\"trunc\" is a list: use null or [rows, cols]"},
        {"{\"trunc\": [1, 2, 3]}", "\"trunc\" is a list: use null or [rows, cols]"},
        {"{\"trunc\": [1, 0]}", "\"trunc\" is a list: use null or [rows, cols]"},
        {"{\"trunc\": [1, \"2\"]}", "\"trunc\" is a list: use null or [rows, cols]"},
        {"{\"trunc\": 3}", "\"trunc\" is 3: use null or [rows, cols]"},
        {"{\"trunc\": {\"a\": 1, \"b\": 2}}", "\"trunc\" is an object: use null or [rows, cols]"},
        {"{\"d_sate\": 3}", "case.json: \"d_sate\" is not a known key: did you mean \"d_state\"?"},
        {"{\"direction\": 3}", "did you mean \"directions\"?"},
        {"{\"bacth\": 3}", "did you mean \"batch\"?"},
        {"{\"complexform\": 3}", "did you mean \"complex_form\"?"},
        {"{\"temperature\": 3}", "case.json: \"temperature\" is not a known key"},
    };
    const ssm2d_config before = ssm2d_config_default();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ssm2d_config c = before;
        if (configure(cases[i][0], &c) != SSM2D_ERROR_ARGUMENT)
            fail_msg("accepted: %s", cases[i][0]);
        assert_line(cases[i][1]);
        assert_memory_equal(&c, &before, sizeof c);
    }
    assert_null(strstr(error.line, "mean")); /* no key resembles temperature */
}

static void misspelt_keys_get_suggestions(void **state)
{
    (void)state;
    static const char *const names[] = {"rows", "columns", "both", "none", NULL};
    assert_string_equal(closest_name("rosw", names), "rows");
    assert_string_equal(closest_name("Column", names), "columns");
    assert_string_equal(closest_name("non", names), "none");
    assert_null(closest_name("", names));
    assert_null(closest_name("x", names));
    assert_null(closest_name("everything", names));
    assert_string_equal(closest_name("rows_of_patches", names), "rows");
    assert_null(closest_name("rowsofpatches", names));
    assert_null(closest_name("a name that is so long that nothing can be meant by it", names));
    assert_null(closest_name("rows", names + 4));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static ssm2d_status read_once(void)
{
    cJSON *root;
    ssm2d_status status = json_read(context, io_path("a.json"), &root, &error);
    cJSON_Delete(root);
    return status;
}

static void *hook_malloc(size_t bytes)
{
    void *memory = meter_take(bytes, &meter);
    if (!memory) errno = ENOMEM; /* as malloc does */
    return memory;
}
static void hook_free(void *memory)
{
    if (memory) meter_give(memory, &meter);
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, \"tw\\ud83d\\ude00o\\n\\u00e9\", {\"b\": null, "
                               "\"c\": true}, [], {}], \"d\": -1.5e3, \"e\" : 0 }\n";
    io_put("a.json", text, sizeof text - 1);
    assert_int_equal(io_fail_everywhere(read_once), 1);
    /* cJSON's own */
    cJSON_Hooks hooks = {hook_malloc, hook_free};
    cJSON_InitHooks(&hooks);
    long failed = 0, before = meter.live;
    for (ssm2d_status status = SSM2D_ERROR_MEMORY; status; failed++) {
        meter.calls = 0;
        meter.fail_at = failed;
        status = read_once();
        assert_true(!status || status == SSM2D_ERROR_MEMORY);
        assert_int_equal(meter.live, before);
        assert_true(failed < 1000);
    }
    cJSON_InitHooks(NULL);
    assert_true(failed > 15);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json_is_parsed),
        TEST(refuses_bad_json),
        TEST(reads_files),
        TEST(finds_duplicates_among_many),
        TEST(fields_are_read),
        TEST(every_layer_field_is_read),
        TEST(golden_cases_are_read),
        TEST(refuses_bad_configurations),
        TEST(misspelt_keys_get_suggestions),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("json", tests, io_setup, io_teardown);
}
