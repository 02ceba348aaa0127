/* Whole runs of a tiny Mega with BatchNorm: the running moments are state that forward runs change,
 * and a run has the same bits for any number of threads and wherever it is stopped. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "models/mega.h"

/* Weights are averaged, gradients clipped; there are more positions than tokens. */
static train_settings tiny_mega(void)
{
    static const char *const keys[][2] = {{"model", "mega-mini"},
                                          {"patch", "2"},
                                          {"dim", "16"},
                                          {"depth", "2"},
                                          {"z", "6"},
                                          {"v", "12"},
                                          {"ffn", "10"},
                                          {"norm", "batch"},
                                          {"mixer.d_state", "3"},
                                          {"clip", "0.5"},
                                          {"ema", "0.9"},
                                          {"log_every", "3"},
                                          {"save_every", "2"},
                                          {"batch", "8"},
                                          {"epochs", "4"},
                                          {"seed", "7"},
                                          {"save_minutes", "0"},
                                          {"max_positions", "20"},
                                          {"flip", "true"}};
    train_settings s;
    if (train_settings_default(&s, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (train_settings_set(&s, "test", keys[i][0], keys[i][1], &error))
            fail_msg("%s", error.line);
    if (train_settings_set(&s, "test", "data", path_of("data"), &error)) fail_msg("%s", error.line);
    return s;
}

static void run(const char *name, int threads, const run_control *hooks)
{
    ssm2d_context *context = make(threads);
    const train_settings s = tiny_mega();
    train_result result;
    if (train_begin(context, path_of(name), &s, hooks, &result, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
}

static void test_threads_and_stops_change_no_bit(void **state)
{
    (void)state;
    run("one", 1, NULL);
    ending e = load(path_of("one"));
    run("three", 3, NULL);
    assert_same(&e, path_of("three"));
    for (long at = 1; at < STEPS; at += 4) {
        char name[32];
        snprintf(name, sizeof name, "stopped%ld", at);
        stopper s = {at, 0};
        run(name, 2, &(run_control){.user = &s, .stop = stop_at});
        ssm2d_context *context = make(1);
        train_result result;
        if (train_resume(context, path_of(name), NULL, &result, &error)) fail_msg("%s", error.line);
        assert_int_equal(result.step, STEPS);
        ssm2d_context_destroy(context);
        assert_same(&e, path_of(name));
    }
    free(e.memory);
}

/* The running moments of a run are in its weights and their average, and no optimiser touched
 * them; a model of another size has them as well. */
static void test_running_moments_are_saved_with_weights(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    run_model m;
    run("run", 2, NULL);
    ending e = load(path_of("run"));
    const int sizes[][2] = {{0, 0}, {16, 16}};
    for (int i = 0; i < 2; i++) {
        if (run_model_open(context, path_of("run"), RUN_MODEL, sizes[i], &m, &error))
            fail_msg("%s", error.line);
        int arrays = 0, moved = 0;
        for (int k = 0; k < m.weights->count; k++) {
            const param_array *a = &m.weights->arrays[k];
            if (a->spec.group != PARAM_STATE) continue;
            arrays++;
            for (size_t n = 0; n < a->count; n++) {
                const size_t at = a->offset + n;
                moved += m.params[at] != (a->spec.nonnegative ? 1 : 0);
                if (i) continue;
                const train_arrays *own = &e.state.arrays;
                assert_true(own->optimizer_arrays[0][at] == 0);
                assert_true(own->optimizer_arrays[1][at] == 0);
                assert_true(own->weights[at] != own->average[at]);
            }
        }
        assert_int_equal(arrays, 5 * 2);
        assert_int_equal(moved, 5 * 2 * 16);
        assert_int_equal(m.resized, i);
        assert_int_equal(mega_of(&m.settings.model)->max_positions, i ? 64 : 20);
        run_model_close(&m);
    }
    free(e.memory);
    ssm2d_context_destroy(context);
}

/* A run without a mixer setting has the model's mixer; a file without one means the same. */
static void test_missing_mixer_means_the_models_own(void **state)
{
    (void)state;
    train_settings s = tiny_mega();
    assert_ptr_equal(s.model.mixer.kind, &layer_ema);
    assert_int_equal(train_settings_set(&s, "test", "model", "vit-mini", &error), SSM2D_OK);
    assert_ptr_equal(s.model.mixer.kind, &layer_ssm2d);
    cJSON *object = cJSON_Parse("{\"model\": \"mega-lra\"}");
    assert_int_equal(train_settings_from_json(&s, "file", object, &error), SSM2D_OK);
    assert_ptr_equal(s.model.mixer.kind, &layer_ema);
    assert_int_equal(s.model.channels, 1); /* whatever data the run has */
    cJSON_Delete(object);
    object = cJSON_Parse("{\"model\": \"mega\", \"mixer\": null}");
    assert_int_equal(train_settings_from_json(&s, "file", object, &error), SSM2D_OK);
    assert_ptr_equal(s.model.mixer.kind, &mixer_none);
    assert_int_equal(s.model.channels, 0);
    cJSON_Delete(object);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_threads_and_stops_change_no_bit),
                                       TEST(test_running_moments_are_saved_with_weights),
                                       TEST(test_missing_mixer_means_the_models_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
