/* Measuring a run: its counts are those of the run, and it leaves no files. And the quartiles over
 * several images. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "train/measure.h"
#include "train/run_receptive_field.h"

static int count_entries(void)
{
    FILE *f;
    char command[128];
    int n = -1;
    snprintf(command, sizeof command, "find %s | wc -l", folder);
    if ((f = popen(command, "r"))) {
        if (fscanf(f, "%d", &n) != 1) n = -1;
        pclose(f);
    }
    return n;
}

static void test_measuring_leaves_no_files(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    const train_settings s = tiny();
    train_cost cost = {0};
    const int before = count_entries();
    assert_int_equal(train_measure(context, &s, 0, &cost, &error), SSM2D_OK);
    assert_int_equal(cost.epochs, EPOCHS);
    assert_int_equal(cost.epoch_steps, EPOCH_STEPS);
    assert_int_equal(cost.test_batches, (TEST + BATCH - 1) / BATCH);
    assert_true(cost.step_seconds == 0 && cost.test_seconds == 0);
    /* more steps than an epoch has */
    assert_int_equal(train_measure(context, &s, EPOCH_STEPS + 3, &cost, &error), SSM2D_OK);
    assert_true(cost.step_seconds > 0 && cost.test_seconds > 0);
    assert_float_equal(
        train_cost_seconds(&cost),
        EPOCHS * (EPOCH_STEPS * cost.step_seconds + (double)cost.test_batches * cost.test_seconds),
        1e-9);
    assert_int_equal(count_entries(), before);
    ssm2d_context_destroy(context);
}

static void test_missing_data_are_named(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_cost cost = {0};
    snprintf(s.options.data, sizeof s.options.data, "%s", path_of("nowhere"));
    assert_int_not_equal(train_measure(context, &s, 2, &cost, &error), SSM2D_OK);
    assert_line("nowhere");
    ssm2d_context_destroy(context);
}

static void check_quartiles(double *values, size_t count, double low, double median, double high,
                            const char *expected)
{
    char text[QUARTILES_TEXT];
    const quartiles q = quartiles_of(values, count);
    assert_float_equal(q.low, low, 1e-12);
    assert_float_equal(q.median, median, 1e-12);
    assert_float_equal(q.high, high, 1e-12);
    assert_string_equal(quartiles_text(q, count, text), expected);
}

/* As numpy.quantile(values, [.25, .5, .75]) has them. */
static void test_quartiles_equal_those_of_numpy(void **state)
{
    (void)state;
    check_quartiles((double[]){7}, 1, 7, 7, 7, "7");
    check_quartiles((double[]){4, 2}, 2, 2.5, 3, 3.5, "3 (quartiles 2.5 and 3.5)");
    check_quartiles((double[]){9, 1, 5, 3, 7}, 5, 3, 5, 7, "5 (quartiles 3 and 7)");
    check_quartiles((double[]){1, 100, 2, 3}, 4, 1.75, 2.5, 27.25, "2.5 (quartiles 1.75 and 27.2)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_measuring_leaves_no_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_data_are_named, setup, teardown),
        cmocka_unit_test(test_quartiles_equal_those_of_numpy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
