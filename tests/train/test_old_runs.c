/* Runs of earlier versions: they resume, end as they would have ended, and can be used. */
#define _GNU_SOURCE /* nftw */
#include "loop_helpers.h"

#include "io/file.h"

static void copy(const char *from, const char *to)
{
    ssm2d_context *context = make(1);
    char *bytes;
    size_t size;
    if (file_read(context, from, 1 << 20, &bytes, &size, &error)) fail_msg("%s", error.line);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    mem_free(context, bytes);
    ssm2d_context_destroy(context);
}

/* The run of a version, copied into the test's folder as `run`. */
static void take_run(const char *version)
{
    static const char *const files[] = {"train.json",       "config.json",       "data.json",
                                        "last.safetensors", "model.safetensors", "best.safetensors",
                                        "metrics.jsonl"};
    char from[1024], to[512];
    assert_int_equal(mkdir(path_of("run"), 0777), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(from, sizeof from, GOLDEN_RUNS "/%s/%s", version, files[i]);
        snprintf(to, sizeof to, "%s/%s", path_of("run"), files[i]);
        copy(from, to);
    }
}

static float *weights_in(const run_model *m, const char *path)
{
    float *params = malloc(m->weights->total * sizeof *params);
    if (weights_load(m->weights, path, NULL, params, NULL, &error)) fail_msg("%s", error.line);
    return params;
}

/* Weights agree to the bit if the instruction set is the one that made them; otherwise they differ
 * by rounding over a few steps. */
static void assert_ends_as(const char *version)
{
    ssm2d_context *context = make(1);
    char end[1024];
    run_model m;
    snprintf(end, sizeof end, GOLDEN_RUNS "/%s/end.safetensors", version);
    if (run_model_open(context, path_of("run"), RUN_MODEL, NULL, &m, &error))
        fail_msg("%s", error.line);
    float *expected = weights_in(&m, end);
    double difference = 0, size = 0;
    for (size_t i = 0; i < m.weights->total; i++) {
        const double d = (double)m.params[i] - (double)expected[i];
        difference += d * d;
        size += (double)expected[i] * (double)expected[i];
    }
    if (!(difference <= 1e-8 * size))
        fail_msg("%s: weights differ by %g of their size", version, sqrt(difference / size));
    free(expected);
    run_model_close(&m);
    ssm2d_context_destroy(context);
}

static int restored;
static void told(void *user, const train_start *start)
{
    (void)user;
    restored = start->restored;
}

static void test_old_run_resumes(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    train_result result;
    char data[512];
    const run_control hooks = {.start = told};
    take_run("0.1");
    snprintf(data, sizeof data, "idx:%s", path_of("data"));
    const train_changes changes = {.data = data};
    if (train_resume_changed(context, path_of("run"), &changes, &hooks, &result, &error))
        fail_msg("%s", error.line);
    assert_int_equal(result.step, 20);
    assert_int_equal(result.best_epoch, 1);
    assert_false(restored); /* train.json was not edited */
    assert_ends_as("0.1");
    /* and again: it is complete, and now has the settings of this version */
    if (train_resume(context, path_of("run"), &hooks, &result, &error)) fail_msg("%s", error.line);
    assert_false(restored);
    ssm2d_context_destroy(context);
}

/* Missing settings keep their original defaults. */
static void test_missing_settings_keep_old_defaults(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    run_model m;
    char value[64];
    take_run("0.1");
    if (run_model_open(context, path_of("run"), RUN_BEST, NULL, &m, &error))
        fail_msg("%s", error.line);
    const cJSON *mixer_keys, *item;
    cJSON *root = model_config_to_json(&m.settings.model);
    assert_string_equal(model_config_text(&m.settings.model, "init", value, sizeof value),
                        "xavier");
    mixer_keys = cJSON_GetObjectItemCaseSensitive(root, "mixer");
    static const char *const expected[][2] = {{"values", "\"polar\""}, {"layer_norm", "true"},
                                              {"d_state", "3"},        {"directions", "4"},
                                              {"norm", "\"relaxed\""}, {"assign", "\"authors\""}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        item = cJSON_GetObjectItemCaseSensitive(mixer_keys, expected[i][0]);
        char *text = cJSON_PrintUnformatted(item);
        assert_string_equal(text, expected[i][1]);
        cJSON_free(text);
    }
    cJSON_Delete(root);
    run_model_close(&m);
    ssm2d_context_destroy(context);
}

/* Data other than the run's are still refused. */
static void test_other_data_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_result result;
    char data[512];
    take_run("0.1");
    assert_true(small_data(path_of("data"), TRAIN + 1, TEST));
    snprintf(data, sizeof data, "idx:%s", path_of("data"));
    const train_changes changes = {.data = data};
    assert_int_not_equal(
        train_resume_changed(context, path_of("run"), &changes, NULL, &result, &error), SSM2D_OK);
    assert_line("are not those the run began with");
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_old_run_resumes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_settings_keep_old_defaults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_data_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
