/* The measurement of a run: its counts are those of the run, and it leaves nothing behind. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "train/measure.h"

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

static void test_measure(void **state)
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

static void test_measure_refused(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_measure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_measure_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
