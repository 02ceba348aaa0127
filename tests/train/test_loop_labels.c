/* Whole runs on data with binary labels, and with augmentations of every stage, both defined by the
 * test: they learn, are evaluated, stopped and resumed like others. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "../augment_examples.h"
#include "../binary_data.h"
#include "train/evaluate.h"

static int begin(void **state)
{
    dataset_extra = corners_only;
    augmentation_extra = augment_examples;
    return setup(state);
}

static int end(void **state)
{
    dataset_extra = NULL;
    augmentation_extra = NULL;
    return teardown(state);
}

static void set(train_settings *s, const char *key, const char *text)
{
    if (train_settings_set(s, "test", key, text, &error)) fail_msg("%s", error.line);
}

static train_settings binary(void)
{
    train_settings s = tiny();
    set(&s, "data", "corners");
    set(&s, "flip", "false"); /* which would exchange left and right */
    set(&s, "drop_path", "0");
    return s;
}

static void note_start(void *user, const train_start *start) { *(int *)user = start->loss_changed; }

static train_result run(const char *name, const train_settings *s, int *loss_changed)
{
    ssm2d_context *context = make(2);
    train_result result;
    run_control hooks = {.user = loss_changed, .start = loss_changed ? note_start : NULL};
    if (train_begin(context, path_of(name), s, &hooks, &result, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
    return result;
}

static char *text_of(const char *name, run_file which)
{
    char path[RUN_PATH], *text = calloc(1, 1 << 14);
    assert_int_equal(run_path(path_of(name), which, path, &error), SSM2D_OK);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_true(fread(text, 1, (1 << 14) - 1, f) > 0);
    fclose(f);
    return text;
}

static void test_attributes_are_learned(void **state)
{
    (void)state;
    int loss_changed = -1;
    train_settings s = binary();
    s.options.epochs = 20;
    s.options.ema = 0;
    s.options.lr = 5e-3;
    set(&s, "crop_padding", "0");
    train_result result = run("run", &s, &loss_changed);
    assert_int_equal(loss_changed, 1); /* the default is cross-entropy */
    if (result.test_score < 0.9) fail_msg("accuracy %g", result.test_score);
    assert_true(result.test_loss < 0.4);
    char *data = text_of("run", RUN_DATA), *settings = text_of("run", RUN_TRAIN);
    assert_non_null(strstr(data, "\"labels\":\t\"binary\""));
    assert_non_null(strstr(data, "\"bottom left\""));
    assert_non_null(strstr(settings, "\"loss\":\t\"bce\""));
    free(data);
    free(settings);

    s.options.loss = LOSS_BCE;
    s.options.epochs = 1;
    run("asked", &s, &loss_changed);
    assert_int_equal(loss_changed, 0);
}

/* The saved model evaluates to what the run logged: mean accuracy over attributes, mean loss. */
static void test_saved_model_evaluates_as_logged(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = binary();
    s.options.ema = 0;
    train_result result = run("run", &s, NULL);
    run_model m;
    evaluator *e = NULL;
    dataset *d;
    loader *l;
    evaluation got;
    if (run_model_open(context, path_of("run"), RUN_MODEL, NULL, &m, &error)
        || dataset_open(context, "corners", DATASET_TEST, &d, &error)
        || run_data_matches(&m.data, dataset_about(d), &error))
        fail_msg("%s", error.line);
    assert_ptr_equal(m.data.task, &task_attributes);
    loader_options o = loader_options_default(d);
    o.batch = 5; /* the last batch is smaller */
    o.norm = m.data.norm;
    if (loader_create(context, d, &o, &l, &error)
        || evaluator_create(context, &m.settings.model, (evaluator_precision){0}, o.batch, &e,
                            &error))
        fail_msg("%s", error.line);
    evaluator_weights(e, m.params);
    if (evaluate(e, l, &task_attributes, LOSS_BCE, NULL, &got, &error)) fail_msg("%s", error.line);
    assert_int_equal(got.images, CORNERS_TEST);
    assert_true(fabs(got.metrics[0] - result.test_score) < 1e-9);
    assert_true(fabs(got.loss - result.test_loss) < 1e-5);

    double loss = 0, correct = 0; /* the same, image by image */
    assert_int_equal(loader_seek(l, 0, 0, &error), SSM2D_OK);
    for (size_t n = 0; n < loader_batches(l); n++) {
        loader_batch b;
        assert_int_equal(loader_next(l, &b, &error), SSM2D_OK);
        const float *logits = evaluator_run(e, b.images, b.count);
        for (size_t i = 0; i < b.count * CORNERS; i++) {
            const double x = (double)logits[i], p = 1 / (1 + exp(-x));
            loss -= b.targets[i] > 0 ? log(p) : log(1 - p);
            correct += (x > 0) == (b.targets[i] > 0);
        }
    }
    assert_true(fabs(got.loss - loss / (CORNERS_TEST * CORNERS)) < 1e-9);
    assert_true(fabs(got.metrics[0] - correct / (CORNERS_TEST * CORNERS)) < 1e-9);
    assert_int_equal(evaluate(e, l, &task_attributes, LOSS_CROSS_ENTROPY, NULL, &got, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("loss=cross-entropy: the data have binary labels: use bce");

    dataset_info classes = *dataset_about(d);
    classes.labels = LABEL_CLASS;
    assert_int_equal(run_data_matches(&m.data, &classes, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("the data have one class per image, but the model was trained on binary labels");
    evaluator_destroy(e);
    loader_destroy(l);
    dataset_close(d);
    run_model_close(&m);
    ssm2d_context_destroy(context);
}

static int same_weights(const char *one, const char *two)
{
    ending a = load(path_of(one)), b = load(path_of(two));
    const int same = a.state.count == b.state.count
                     && !memcmp(a.memory, b.memory, 5 * a.state.count * sizeof *a.memory);
    free(a.memory);
    free(b.memory);
    return same;
}

/* Attributes are smoothed by binary_smoothing, and by nothing else. */
static void test_only_binary_smoothing_smooths_attributes(void **state)
{
    (void)state;
    train_settings s = binary();
    s.options.epochs = 1;
    run("run", &s, NULL);
    s.options.smoothing = 0.5;
    run("other", &s, NULL);
    assert_true(same_weights("run", "other"));
    s.options.binary_smoothing = 0.2;
    run("smoothed", &s, NULL);
    assert_false(same_weights("run", "smoothed"));
}

/* All stages at once, on either kind of labels: stopped at each stop check in turn, a run continues
 * to the same end; and each augmentation changes the result. */
static void test_augmentation_stages_resume_to_same_bits(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"half", "off"}, {"mark", "0"}, {"noise", "0"}, {"blend", "false"}};
    for (int classes = 0; classes < 2; classes++) {
        train_settings s = classes ? tiny() : binary();
        char whole[32], name[32];
        s.options.epochs = 2;
        set(&s, "half", "random");
        set(&s, "mark", "[1, 2]");
        set(&s, "noise", "0.2");
        set(&s, "blend", "true");
        snprintf(whole, sizeof whole, "whole%d", classes);
        run(whole, &s, NULL);
        for (long at = 1; at < 10; at += 4) {
            ssm2d_context *context = make(1);
            train_result result;
            stopper stop = {.at = at};
            run_control hooks = {.user = &stop, .stop = stop_at};
            snprintf(name, sizeof name, "stopped%d-%ld", classes, at);
            if (train_begin(context, path_of(name), &s, &hooks, &result, &error))
                fail_msg("%s", error.line);
            assert_true(result.stopped);
            if (train_resume(context, path_of(name), NULL, &result, &error))
                fail_msg("%s", error.line);
            assert_true(same_weights(whole, name));
            ssm2d_context_destroy(context);
        }
        for (int i = 0; i < 4; i++) {
            train_settings other = s;
            snprintf(name, sizeof name, "other%d-%d", classes, i);
            set(&other, changes[i][0], changes[i][1]);
            run(name, &other, NULL);
            if (same_weights(whole, name)) fail_msg("%s changes nothing", changes[i][0]);
        }
    }
}

/* Files of runs on classes do not mention labels, and files without a task are read as before. */
static void test_files_of_classes_do_not_mention_labels(void **state)
{
    (void)state;
    train_settings s = tiny();
    s.options.epochs = 1;
    run("run", &s, NULL);
    char *data = text_of("run", RUN_DATA);
    assert_null(strstr(data, "labels"));
    free(data);
    ssm2d_context *context = make(1);
    char path[RUN_PATH];
    run_data read;
    assert_int_equal(run_data_read(context, path_of("run"), &read, &error), SSM2D_OK);
    assert_ptr_equal(read.task, &task_classification);
    run_data_free(context, &read);
    assert_int_equal(run_path(path_of("run"), RUN_DATA, path, &error), SSM2D_OK);
    FILE *f = fopen(path, "wb");
    fputs("{\"classes\": [\"a\"], \"task\": \"none such\"}", f);
    fclose(f);
    assert_int_equal(run_data_read(context, path_of("run"), &read, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("\"task\" is none such, which this version does not have");
    f = fopen(path, "wb");
    fputs("{\"classes\": [\"a\"], \"labels\": \"binary\", \"channels\": 1, "
          "\"mean\": [0, 0, 0], \"std\": [1, 1, 1]}",
          f);
    fclose(f);
    assert_int_equal(run_data_read(context, path_of("run"), &read, &error), SSM2D_OK);
    assert_ptr_equal(read.task, &task_attributes);
    run_data_free(context, &read);
    f = fopen(path, "wb");
    fputs("{\"classes\": [\"a\"], \"labels\": \"ternary\"}", f);
    fclose(f);
    assert_int_equal(run_data_read(context, path_of("run"), &read, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("\"labels\" is not \"binary\"");
    ssm2d_context_destroy(context);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_attributes_are_learned, begin, end),
        cmocka_unit_test_setup_teardown(test_saved_model_evaluates_as_logged, begin, end),
        cmocka_unit_test_setup_teardown(test_only_binary_smoothing_smooths_attributes, begin, end),
        cmocka_unit_test_setup_teardown(test_augmentation_stages_resume_to_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(test_files_of_classes_do_not_mention_labels, begin, end),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
