/* Whole runs of a small model of each family except ViT, which has tests of its own: the same bits
 * on any number of threads and after a stop, learning, and another image size. */
#define _GNU_SOURCE
#include "loop_helpers.h"

static const struct {
    const char *model;
    const char *keys[8][2];
} models[] = {
    {"swin-mini",
     {{"dim", "8,16"},
      {"depth", "2,2"},
      {"heads", "2,2"},
      {"window", "3"},
      {"mixer", "ssm2d"},
      {"mixer.d_state", "2"}}},
};

enum { MODELS = sizeof models / sizeof *models };

static void set(train_settings *s, const char *key, const char *text)
{
    if (train_settings_set(s, "test", key, text, &error)) fail_msg("%s", error.line);
}

static train_settings settings_of(int which)
{
    static const char *const keys[][2] = {
        {"drop_path", "0.2"}, {"flip", "true"}, {"crop_padding", "1"}, {"ema", "0.9"},
        {"batch", "8"},       {"epochs", "4"},  {"save_minutes", "0"}};
    train_settings s;
    if (train_settings_default(&s, &error)) fail_msg("%s", error.line);
    set(&s, "model", models[which].model);
    for (int i = 0; models[which].keys[i][0]; i++)
        set(&s, models[which].keys[i][0], models[which].keys[i][1]);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) set(&s, keys[i][0], keys[i][1]);
    set(&s, "data", path_of("data"));
    return s;
}

static train_result run_model_of(int which, const char *run, int threads, const run_control *hooks)
{
    ssm2d_context *context = make(threads);
    train_settings s = settings_of(which);
    train_result result;
    if (train_begin(context, run, &s, hooks, &result, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
    return result;
}

static const char *run_of(int which, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%s", models[which].model, what);
    return path_of(name);
}

static void test_threads_and_stops_change_no_bit(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        run_model_of(m, run_of(m, "one"), 1, NULL);
        ending e = load(run_of(m, "one"));
        run_model_of(m, run_of(m, "two"), 2, NULL);
        assert_same(&e, run_of(m, "two"));
        run_model_of(m, run_of(m, "five"), 5, NULL);
        assert_same(&e, run_of(m, "five"));
        /* stopped in the second epoch */
        stopper stop = {EPOCH_STEPS + 3, 0};
        const run_control hooks = {.user = &stop, .stop = stop_at};
        train_result result = run_model_of(m, run_of(m, "stopped"), 2, &hooks);
        assert_int_equal(result.stopped, 1);
        ssm2d_context *context = make(1);
        if (train_resume(context, run_of(m, "stopped"), NULL, &result, &error))
            fail_msg("%s", error.line);
        assert_int_equal(result.step, STEPS);
        assert_same(&e, run_of(m, "stopped"));
        ssm2d_context_destroy(context);
        free(e.memory);
    }
}

static void test_every_family_learns(void **state)
{
    (void)state;
    for (int which = 0; which < MODELS; which++) {
        ssm2d_context *context = make(2);
        train_settings s = settings_of(which);
        train_result result;
        run_model m;
        set(&s, "epochs", "25");
        set(&s, "lr", "5e-3");
        set(&s, "ema", "0");
        set(&s, "drop_path", "0");
        s.augment = augment_options_default();
        if (train_begin(context, run_of(which, "run"), &s, NULL, &result, &error))
            fail_msg("%s", error.line);
        if (result.test_score < 0.9)
            fail_msg("%s: accuracy %g", models[which].model, result.test_score);
        if (run_model_open(context, run_of(which, "run"), RUN_BEST, (int[]){16, 24}, &m, &error))
            fail_msg("%s", error.line);
        assert_true(m.resized);
        run_model_close(&m);
        ssm2d_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_threads_and_stops_change_no_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_family_learns, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
