/* machines.json: a start on the same machine is counted, another machine is added, and a file that
 * is not such a list is not changed. */
#include "../io_helpers.h"

#include "io/json.h"
#include "train/machines.h"

static double number(const cJSON *object, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static cJSON *read_list(void)
{
    cJSON *list;
    if (machines_read(context, io_path("machines.json"), &list, &error)) fail_msg("%s", error.line);
    assert_non_null(list);
    return list;
}

static void add(long step, int processes)
{
    if (machines_add(context, io_path("machines.json"), step, processes, &error))
        fail_msg("%s", error.line);
}

static void test_starts_on_one_machine_are_counted(void **state)
{
    (void)state;
    cJSON *list;
    assert_int_equal(machines_read(context, io_path("machines.json"), &list, &error), SSM2D_OK);
    assert_null(list); /* as in runs of earlier versions */
    add(0, 1);
    add(7, 1);
    list = read_list();
    assert_int_equal(cJSON_GetArraySize(list), 1);
    const cJSON *one = cJSON_GetArrayItem(list, 0);
    assert_int_equal(number(one, "step"), 0);
    assert_int_equal(number(one, "starts"), 2);
    assert_int_equal(number(one, "threads"), 1);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(one, "ssm2d")), ssm2d_version());
    cJSON_Delete(list);
    add(9, 4);
    list = read_list();
    assert_int_equal(cJSON_GetArraySize(list), 2);
    one = cJSON_GetArrayItem(list, 1);
    assert_int_equal(number(one, "step"), 9);
    assert_int_equal(number(one, "starts"), 1);
    assert_int_equal(number(one, "processes"), 4);
    cJSON_Delete(list);
}

/* However often a run changes machines, the first and the latest are kept. */
static void test_first_and_latest_machines_are_kept(void **state)
{
    (void)state;
    add(0, 1);
    cJSON *list = read_list();
    const cJSON *first = cJSON_GetArrayItem(list, 0);
    for (int step = 1; step < 1000; step++) {
        cJSON *copy = cJSON_Duplicate(first, 1);
        cJSON_SetNumberValue(cJSON_GetObjectItem(copy, "step"), step);
        cJSON_SetNumberValue(cJSON_GetObjectItem(copy, "processes"), 1 + step % 2);
        assert_true(json_add(list, NULL, copy));
    }
    assert_int_equal(json_write(context, io_path("machines.json"), list, &error), SSM2D_OK);
    add(1000, 1);
    list = read_list();
    assert_int_equal(cJSON_GetArraySize(list), 1000);
    assert_int_equal(number(cJSON_GetArrayItem(list, 0), "step"), 0);
    assert_int_equal(number(cJSON_GetArrayItem(list, 1), "step"), 2);
    assert_int_equal(number(cJSON_GetArrayItem(list, 999), "step"), 1000);
    cJSON_Delete(list);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "[1]",
        "[{}]",
        "[{\"step\": 0, \"starts\": 1, \"started\": \"now\"}]",
        "[{\"step\": -1, \"starts\": 1, \"started\": \"now\", \"ssm2d\": \"1\", \"processor\": "
        "\"\", \"instruction_set\": \"\", \"system\": \"\", \"compiler\": \"\", \"processors\": 1, "
        "\"threads\": 1, \"processes\": 1}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t size;
        io_put("machines.json", bad[i], strlen(bad[i]));
        assert_int_equal(machines_add(context, io_path("machines.json"), 0, 1, &error),
                         SSM2D_ERROR_ARGUMENT);
        assert_non_null(strstr(error.line, "machines.json"));
        unsigned char *now = io_get(io_path("machines.json"), &size);
        assert_int_equal(size, strlen(bad[i]));
        assert_memory_equal(now, bad[i], size);
        free(now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_starts_on_one_machine_are_counted, io_begin),
        cmocka_unit_test_setup(test_first_and_latest_machines_are_kept, io_begin),
        cmocka_unit_test_setup(test_bad_files_are_refused, io_begin),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
