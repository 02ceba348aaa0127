/* Whole runs of a tiny model: the same bits on every run and any number of threads, settings that
 * have an effect, initial weights from a file. */
#define _GNU_SOURCE
#include "loop_helpers.h"

static void test_runs_repeat_to_the_bit(void **state)
{
    (void)state;
    train_result first = train(path_of("one"), 1);
    assert_int_equal(first.step, STEPS);
    assert_int_equal(first.stopped, 0);
    ending e = load(path_of("one"));
    char *text = metrics_text(path_of("one"));
    train(path_of("again"), 1);
    assert_same(&e, path_of("again"));
    train(path_of("two"), 2);
    assert_same(&e, path_of("two"));
    train(path_of("four"), 4);
    assert_same(&e, path_of("four"));
    char *other = metrics_text(path_of("four"));
    assert_string_equal(text, other);
    assert_non_null(strstr(text, "\"mixer_norms\": ["));
    assert_non_null(strstr(text, "\"kernel_gains\": ["));
    free(other);
    free(text);
    free(e.memory);
}

/* The model learns: a square in a corner is easy to classify. */
static void test_loss_falls_and_accuracy_rises(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    train_settings s = tiny();
    train_result result;
    s.options.epochs = 25;
    s.options.ema = 0;
    s.options.lr = 5e-3;
    s.augment = augment_options_default();
    assert_int_equal(train_settings_set(&s, "test", "drop_path", "0", &error), SSM2D_OK);
    /* only positions matter here */
    assert_int_equal(train_settings_set(&s, "test", "pos_scale", "1", &error), SSM2D_OK);
    if (train_begin(context, path_of("run"), &s, NULL, &result, &error)) fail_msg("%s", error.line);
    if (result.test_score < 0.9) fail_msg("accuracy %g", result.test_score);
    /* what was saved evaluates to the same */
    run_model m;
    if (run_model_open(context, path_of("run"), RUN_MODEL, NULL, &m, &error))
        fail_msg("%s", error.line);
    assert_int_equal(m.data.outputs, SMALL_CLASSES);
    assert_string_equal(m.data.names[2], "2");
    assert_true(m.data.norm.std[0] > 0);
    run_model_close(&m);
    /* also at another size */
    if (run_model_open(context, path_of("run"), RUN_BEST, (int[]){16, 16}, &m, &error))
        fail_msg("%s", error.line);
    assert_true(m.resized);
    run_model_close(&m);
    assert_int_not_equal(
        run_model_open(context, path_of("run"), RUN_BEST, (int[]){15, 16}, &m, &error), SSM2D_OK);
    assert_line("cannot be cut into such patches");
    ssm2d_context_destroy(context);
}

/* Every setting that should change the result does. */
static void test_every_setting_changes_the_result(void **state)
{
    (void)state;
    static const char *const changes[][2] = {{"seed", "8"},
                                             {"lr", "0.003"},
                                             {"decay", "0.5"},
                                             {"beta1", "0.8"},
                                             {"beta2", "0.9"},
                                             {"eps", "0.01"},
                                             {"clip", "0"},
                                             {"smoothing", "0"},
                                             {"loss", "bce"},
                                             {"schedule", "constant"},
                                             {"warmup", "0.4"},
                                             {"lr_start", "1e-4"},
                                             {"lr_final", "1e-4"},
                                             {"flip", "false"},
                                             {"crop_padding", "0"},
                                             {"drop_path", "0"},
                                             {"mixer.init", "authors"},
                                             {"ema", "0.5"},
                                             {"mixer.normalize", "true"},
                                             {"mixer_lr", "0.5"}};
    train(path_of("run"), 1);
    ending e = load(path_of("run"));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        ssm2d_context *context = make(1);
        train_settings s = tiny();
        train_result result;
        char name[32];
        snprintf(name, sizeof name, "run%zu", i);
        if (train_settings_set(&s, "test", changes[i][0], changes[i][1], &error))
            fail_msg("%s", error.line);
        if (train_begin(context, path_of(name), &s, NULL, &result, &error))
            fail_msg("%s", error.line);
        ssm2d_context_destroy(context);
        ending other = load(path_of(name));
        if (other.state.count == e.state.count
            && !memcmp(e.memory + 4 * e.state.count, other.memory + 4 * e.state.count,
                       e.state.count * sizeof(float)))
            fail_msg("%s=%s changes nothing", changes[i][0], changes[i][1]);
        free(other.memory);
    }
    free(e.memory);
}

/* How often a part occurs in a text. */
static int times_in(const char *text, const char *part)
{
    int n = 0;
    while ((text = strstr(text, part))) text += strlen(part), n++;
    return n;
}

/* By default short epochs log enough lines for a curve. */
static void test_short_epochs_log_enough_lines(void **state)
{
    (void)state;
    static const long every[] = {0, 3, 50}, lines[] = {11, 7, 0};
    for (int i = 0; i < 3; i++) {
        ssm2d_context *context = make(1);
        train_settings s = tiny();
        train_result result;
        char name[32];
        snprintf(name, sizeof name, "run%d", i);
        s.options.log_every = every[i];
        s.options.batch = 2; /* 22 steps */
        s.options.epochs = 1;
        if (train_begin(context, path_of(name), &s, NULL, &result, &error))
            fail_msg("%s", error.line);
        char *text = metrics_text(path_of(name));
        assert_int_equal(times_in(text, "\"mixer_norms\""), lines[i]);
        free(text);
        ssm2d_context_destroy(context);
    }
}

/* Whether weight decay changes an array of a model: 1 or 0; -1: there is no such array. */
static int has_decayed(const run_model *with, const run_model *without, const char *name)
{
    const param_array *a = weights_find(with->weights, name);
    if (!a) return -1;
    return memcmp(with->params + a->offset, without->params + a->offset, a->count * sizeof(float))
           != 0;
}

/* Which arrays weight decay acts on, found by comparing one step with and without it. */
static void test_weight_decay_acts_on_chosen_arrays(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int all, matrices;
    } arrays[] = {{"patch_embed.proj.weight", 1, 1},
                  {"blocks.0.attn.qkv.weight", 1, 1},
                  {"head.weight", 1, 1},
                  {"pos_embed", 1, 0},
                  {"cls_token", 1, 0},
                  {"blocks.1.norm1.weight", 1, 0},
                  {"norm.weight", 1, 0},
                  {"blocks.0.mlp.fc1.bias", 0, 0},
                  {"head.bias", 0, 0},
                  {"blocks.0.mixer.D", 1, 0}};
    for (int of = 0; of < 2; of++) {
        ssm2d_context *context = make(1);
        run_model m[2];
        for (int i = 0; i < 2; i++) {
            train_settings s = tiny();
            train_result result;
            char name[32];
            snprintf(name, sizeof name, "run%d", 2 * of + i);
            s.options.batch = TRAIN;
            s.options.epochs = 1;
            s.options.ema = 0;
            s.options.decay = i ? 0 : 0.5;
            s.options.decay_of = of;
            if (train_begin(context, path_of(name), &s, NULL, &result, &error)
                || run_model_open(context, path_of(name), RUN_MODEL, NULL, &m[i], &error))
                fail_msg("%s", error.line);
        }
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            if (has_decayed(&m[0], &m[1], arrays[i].name)
                != (of ? arrays[i].matrices : arrays[i].all))
                fail_msg("decay_of %d: %s: %d", of, arrays[i].name,
                         has_decayed(&m[0], &m[1], arrays[i].name));
        run_model_close(&m[0]);
        run_model_close(&m[1]);
        ssm2d_context_destroy(context);
    }
}

static void keep_report(void *user, const train_start *start)
{
    if (start->read) *(weights_report *)user = *start->read;
}

/* A run may start from the weights of one without mixers and with other classes. */
static void test_run_starts_from_weights_of_another(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    train_settings s = tiny();
    train_result result;
    weights_report report = {0};
    run_model m;
    char path[RUN_PATH];
    run_control hooks = {.user = &report, .start = keep_report};
    if (train_settings_set(&s, "test", "mixer", "none", &error)) fail_msg("%s", error.line);
    if (train_begin(context, path_of("plain"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 0);
    assert_int_equal(run_path(path_of("plain"), RUN_MODEL, path, &error), SSM2D_OK);

    s = tiny();
    /* it keeps its initial value */
    s.options.lr = s.options.lr_start = s.options.lr_final = s.options.decay = 0;
    s.options.epochs = 1;
    if (train_settings_set(&s, "test", "start", path, &error)) fail_msg("%s", error.line);
    if (train_begin(context, path_of("same"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 0);
    assert_int_equal(report.new_mixer_arrays, 2 * 7);
    if (run_model_open(context, path_of("same"), RUN_MODEL, NULL, &m, &error))
        fail_msg("%s", error.line);
    weights *given;
    model_config plain = m.settings.model;
    plain.mixer.kind = &mixer_none;
    assert_int_equal(weights_create(context, &plain, &given, &error), SSM2D_OK);
    float *first = calloc(given->total, sizeof *first);
    assert_int_equal(weights_load(given, path, NULL, first, NULL, &error), SSM2D_OK);
    for (int i = 0; i < given->count; i++) {
        const param_array *a = &given->arrays[i], *b = weights_find(m.weights, a->name);
        assert_non_null(b);
        assert_memory_equal(first + a->offset, m.params + b->offset, a->count * sizeof *first);
    }
    free(first);
    weights_destroy(given);

    model_config more = m.settings.model;
    more.outputs = SMALL_CLASSES + 2;
    assert_int_equal(weights_create(context, &more, &given, &error), SSM2D_OK);
    first = calloc(given->total, sizeof *first);
    assert_int_equal(weights_init(given, PARAM_ALL, 1, first, &error), SSM2D_OK);
    assert_int_equal(weights_save(given, path, first, &error), SSM2D_OK);
    free(first);
    weights_destroy(given);
    run_model_close(&m);
    if (train_begin(context, path_of("more"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 1);
    assert_int_equal(report.new_mixer_arrays, 0);
    remove(path); /* a run continues without it */
    if (train_resume(context, path_of("more"), NULL, &result, &error)) fail_msg("%s", error.line);
    assert_int_not_equal(train_begin(context, path_of("none"), &s, NULL, &result, &error),
                         SSM2D_OK);
    assert_line("model.safetensors");
    assert_int_equal(access(path_of("none"), F_OK), -1);
    ssm2d_context_destroy(context);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_repeat_to_the_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loss_falls_and_accuracy_rises, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_setting_changes_the_result, setup, teardown),
        cmocka_unit_test_setup_teardown(test_short_epochs_log_enough_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_weight_decay_acts_on_chosen_arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run_starts_from_weights_of_another, setup, teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
