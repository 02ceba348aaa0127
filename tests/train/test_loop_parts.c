/* Runs on parts of their data: which images choose the best epoch, and that an interrupted run
 * keeps the same parts. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "loop_helpers.h"

#include "data/loader.h"
#include "data/split.h"
#include "train/evaluate.h"

static train_settings parts(const char *val, const char *fraction)
{
    train_settings s = tiny();
    if (train_settings_set(&s, "test", "val_fraction", val, &error)
        || train_settings_set(&s, "test", "train_fraction", fraction, &error)
        || train_settings_set(&s, "test", "batch", "4", &error))
        fail_msg("%s", error.line);
    return s;
}

typedef struct seen {
    size_t train, choose;
    split_choice choice;
    long stop_at, steps;
} seen;

static void on_start(void *user, const train_start *start)
{
    seen *s = user;
    s->train = start->train_images;
    s->choose = start->choose_images;
    s->choice = start->choice;
}

static int stop(void *user)
{
    seen *s = user;
    return s->stop_at && ++s->steps >= s->stop_at;
}

static train_result run(const char *name, const train_settings *settings, seen *s)
{
    ssm2d_context *context = make(1);
    train_result result;
    const run_control hooks = {.user = s, .start = on_start, .stop = stop};
    if (train_begin(context, path_of(name), settings, &hooks, &result, &error))
        fail_msg("%s", error.line);
    while (result.stopped) { /* every few steps again */
        s->steps = 0;
        if (train_resume(context, path_of(name), &hooks, &result, &error))
            fail_msg("%s", error.line);
    }
    ssm2d_context_destroy(context);
    return result;
}

static void chooses_by_what_is_held_out(void **state)
{
    (void)state;
    const train_settings s = parts("0.25", "1");
    seen at = {0};
    const train_result r = run("run", &s, &at);
    assert_int_equal(at.choice, CHOICE_HELD_OUT);
    assert_int_equal(at.choose, TRAIN / 4);
    assert_int_equal(at.train, TRAIN - TRAIN / 4);
    assert_int_equal(r.choice, CHOICE_HELD_OUT);
    char *text = metrics_text(path_of("run"));
    assert_non_null(strstr(text, "\"val_accuracy\""));
    assert_null(strstr(text, "\"test_accuracy\""));
    free(text);
    /* the accuracy is that of these images */
    ssm2d_context *context = make(1);
    run_model m;
    evaluator *e = NULL;
    dataset *d;
    loader *l;
    evaluation got;
    if (run_model_open(context, path_of("run"), RUN_MODEL, NULL, &m, &error)) fail_msg("model");
    const split_options o = train_options_split(&m.settings.options);
    assert_true(o.val_fraction > .2 && o.val_fraction < .3);
    if (split_open(context, m.settings.options.data, &o, DATASET_VAL, &d, &error))
        fail_msg("%s", error.line);
    loader_options lo = loader_options_default(d);
    lo.norm = m.data.norm;
    lo.augment = m.settings.augment;
    if (loader_create(context, d, &lo, &l, &error)
        || evaluator_create(context, &m.settings.model, (evaluator_precision){0}, lo.batch, &e,
                            &error))
        fail_msg("%s", error.line);
    evaluator_weights(e, m.params);
    if (evaluate(e, l, &task_classification, LOSS_CROSS_ENTROPY, NULL, &got, &error))
        fail_msg("%s", error.line);
    assert_int_equal(got.images, TRAIN / 4);
    assert_true(fabs(got.metrics[0] - r.test_score) < 1e-9);
    evaluator_destroy(e);
    loader_destroy(l);
    dataset_close(d);
    run_model_close(&m);
    ssm2d_context_destroy(context);
}

static void resumes_with_the_same_parts(void **state)
{
    (void)state;
    const train_settings s = parts("0.2", "0.6");
    seen at = {0};
    run("whole", &s, &at);
    const size_t images = at.train;
    assert_true(images < TRAIN * 6 / 10 && images > TRAIN * 4 / 10);
    ending e = load(path_of("whole"));
    at = (seen){.stop_at = 5};
    run("stopped", &s, &at);
    assert_int_equal(at.train, images);
    assert_same(&e, path_of("stopped"));
    free(e.memory);
    char *one = metrics_text(path_of("whole")), *two = metrics_text(path_of("stopped"));
    assert_string_equal(one, two);
    free(one);
    free(two);
}

static void another_split_is_another_run(void **state)
{
    (void)state;
    train_settings s = parts("0.2", "0.6");
    seen at = {0};
    run("one", &s, &at);
    ending a = load(path_of("one"));
    s.options.split_seed = 1;
    run("two", &s, &at);
    ending b = load(path_of("two"));
    assert_memory_not_equal(a.state.arrays.weights, b.state.arrays.weights,
                            a.state.count * sizeof(float));
    free(a.memory);
    free(b.memory);
}

/* Old settings have no crop and squash images; new ones keep the aspect ratio. */
static void only_new_runs_crop(void **state)
{
    (void)state;
    const dataset_info info = {.count = 1, .label_count = 2, .channels = 3};
    for (int turn = 0; turn < 4; turn++) {
        train_settings s;
        if (turn ? train_settings_begin(&s, &error) : train_settings_default(&s, &error))
            fail_msg("%s", error.line);
        if (turn == 1 && train_settings_set(&s, "test", "image", "224", &error)) fail_msg("image");
        if (turn == 3 && train_settings_set(&s, "test", "eval_crop", "0", &error)) fail_msg("crop");
        if (train_settings_fit(&s, &info, &error)) fail_msg("%s", error.line);
        cJSON *root = train_settings_to_json(&s);
        const double crop = cJSON_GetObjectItem(root, "eval_crop")->valuedouble;
        static const double expected[] = {0, .875, 1, 0};
        assert_true(fabs(crop - expected[turn]) < 1e-12);
        cJSON_Delete(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chooses_by_what_is_held_out, setup, teardown),
        cmocka_unit_test_setup_teardown(resumes_with_the_same_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(another_split_is_another_run, setup, teardown),
        cmocka_unit_test_setup_teardown(only_new_runs_crop, setup, teardown),
    };
    return cmocka_run_group_tests_name("loop_parts", tests, NULL, NULL);
}
