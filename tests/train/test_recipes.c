/* Recipes: what they set and for which models, the resulting learning rates, and that runs with
 * everything they switch on resume to the same bits, with any number of workers. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "train/recipes.h"

static train_settings model_with(const char *model_name, const char *mixer_name)
{
    train_settings s;
    if (train_settings_default(&s, &error)
        || train_settings_set(&s, "test", "model", model_name, &error)
        || train_settings_set(&s, "test", "mixer", mixer_name, &error))
        fail_msg("%s", error.line);
    return s;
}

static const recipe *find(const char *name)
{
    const recipe *r = recipe_find(name, &error);
    if (!r) fail_msg("%s", error.line);
    return r;
}

static train_settings recipe_settings(const char *name, const char *model_name,
                                      const char *mixer_name)
{
    const train_settings run = model_with(model_name, mixer_name);
    train_settings s = run;
    if (recipe_apply(find(name), &run, &s, &error)) fail_msg("%s", error.line);
    return s;
}

/* The value of a key as text. */
static const char *value_of(const train_settings *s, const char *key)
{
    static char text[64];
    cJSON *all = train_settings_to_json(s), *item = cJSON_GetObjectItemCaseSensitive(all, key);
    if (!item) fail_msg("there is no key %s", key);
    char *printed = cJSON_PrintUnformatted(item);
    snprintf(text, sizeof text, "%s", cJSON_IsString(item) ? item->valuestring : printed);
    cJSON_free(printed);
    cJSON_Delete(all);
    return text;
}

/* Every line has an effect in every model, and the result is consistent. */
static void test_every_recipe_line_has_an_effect(void **state)
{
    (void)state;
    static const char *const models[] = {"vit-mini", "vit",    "deit-t",
                                         "swin-t",   "mega-t", "convnext-small"};
    for (int i = 0; recipe_at(i); i++)
        for (int k = 0; k < 12; k++) {
            const recipe *r = recipe_at(i);
            const train_settings s =
                recipe_settings(r->name, models[k / 2], k % 2 ? "ssm2d" : "none");
            assert_int_equal(train_options_check(&s.options, &error), SSM2D_OK);
            assert_int_equal(augment_options_check(&s.augment, &error), SSM2D_OK);
            recipe_line line, later;
            int lines = 0, written = 0;
            for (; recipe_line_at(r, lines, &line); lines++) {
                if (!train_settings_have(&s, line.key) && strcmp(line.key, "drop_path_ramp"))
                    fail_msg("%s: %s", r->name, line.key); /* only vit has the ramp */
                int replaced = 0;
                for (int j = lines + 1; recipe_line_at(r, j, &later); j++)
                    replaced |= !strcmp(later.key, line.key) && recipe_line_applies(&later, &s);
                if (!recipe_line_applies(&line, &s) || replaced) continue;
                if (strtod(value_of(&s, line.key), NULL) != strtod(line.value, NULL)
                    || (strtod(line.value, NULL) == 0 && line.value[0] != '0'
                        && strcmp(value_of(&s, line.key), line.value)))
                    fail_msg("%s: %s is %s, not %s", r->name, line.key, value_of(&s, line.key),
                             line.value);
            }
            for (const recipe_part *p = r->parts; p->settings; p++)
                for (const char *c = p->settings; *c; c++) written += *c == '=';
            assert_int_equal(lines, written); /* all of the text was parsed */
        }
    assert_null(recipe_at(-1));
}

static void test_conditions_choose_by_model_and_mixer(void **state)
{
    (void)state;
    train_settings s = recipe_settings("small", "vit", "none");
    assert_string_equal(value_of(&s, "drop_path"), "0.1");
    assert_string_equal(value_of(&s, "autoaugment"), "cifar");
    s = recipe_settings("small", "vit", "s4nd");
    assert_string_equal(value_of(&s, "drop_path"), "0.1");
    s = recipe_settings("small", "mega", "ssm2d");
    assert_string_equal(value_of(&s, "drop_path"), "0");
    s = recipe_settings("small", "convnext-small", "ssm2d");
    assert_string_equal(value_of(&s, "drop_path"), "0.1");
    assert_string_equal(value_of(&s, "decay"), "0.1");
    assert_true(s.options.batch == 128 && train_epochs(&s.options) == 100);
    assert_true(train_learning_rates(&s.options).peak == 0.001);
    s = recipe_settings("small", "vit", "ssm2d");
    assert_string_equal(value_of(&s, "decay"), "0.05");
    assert_string_equal(value_of(&s, "drop_path"), "0.2");
    assert_string_equal(value_of(&s, "drop_path_ramp"), "false");
    train_settings tiny_imagenet = s; /* by its name; a folder is recognised by its files */
    if (train_settings_set(&tiny_imagenet, "test", "data", "tiny-imagenet:/none", &error)
        || recipe_apply(find("small"), &tiny_imagenet, &s, &error))
        fail_msg("%s", error.line);
    assert_string_equal(value_of(&s, "autoaugment"), "imagenet");
    s = recipe_settings("deit", "deit-t", "ssm2d");
    assert_string_equal(value_of(&s, "drop_path"), "0.1");
    train_rates rates = train_learning_rates(&s.options);
    assert_true(fabs(rates.peak - 5e-4 * 64 / 512) < 1e-18);
    assert_true(rates.start == 1e-6 && rates.final == 1e-5);
    assert_string_equal(value_of(&s, "drop_path_ramp"), "true");
    assert_int_equal(train_epochs(&s.options), 300);
    s = recipe_settings("deit", "swin-t", "none"); /* all three are scaled */
    rates = train_learning_rates(&s.options);
    assert_true(fabs(rates.peak - 5e-4 / 8) < 1e-18 && fabs(rates.start - 5e-7 / 8) < 1e-18
                && fabs(rates.final - 5e-6 / 8) < 1e-18);
    assert_string_equal(value_of(&s, "drop_path"), "0.2");
    assert_string_equal(value_of(&s, "repeats"), "1");
    assert_string_equal(value_of(&s, "decay_of"), "matrices");
    s = recipe_settings("deit", "mega-t", "none");
    assert_true(train_learning_rates(&s.options).peak == 0.002 && s.options.beta2 == 0.98);
    assert_true(s.options.batch == 1024 && s.options.slices == 16 && s.options.ema == 0);
    assert_string_equal(value_of(&s, "drop_path"), "0.2");
    assert_string_equal(value_of(&s, "erasing_clip"), "2");
    s = recipe_settings("celeba", "swin-t", "ssm2d"); /* as DeiT */
    assert_string_equal(value_of(&s, "drop_path"), "0.1");
    assert_true(s.options.ema == 0.99996 && s.options.clip == 0);
    s = recipe_settings("lra", "mega-lra", "ssm2d"); /* 180,000 updates, 9,000 of them warm-up */
    assert_true((1 - s.options.val_fraction) * 50000 / s.options.batch
                    * (double)train_epochs(&s.options)
                == 180000);
    assert_true(s.options.warmup * 180000 == 9000 && s.options.lr == 0.01 && s.options.clip == 1);
    assert_string_equal(value_of(&s, "decay_of"), "everything");
    assert_string_equal(value_of(&s, "head"), "lra");
    assert_null(recipe_find("smal", &error));
    assert_line("there is no recipe smal; did you mean small?");
    assert_null(recipe_find("imagenet", &error));
    assert_line("there is no recipe imagenet: ");
}

/* ---- learning rates -------------------------------------------------------------------------- */

enum { MAX_STEPS = 4096 };

typedef struct rates {
    double lr[MAX_STEPS];
    long count;
} rates;

static void note_rate(void *user, const train_progress *p)
{
    rates *r = user;
    assert_true(r->count < MAX_STEPS && p->wait >= 0 && p->wait <= 1);
    r->lr[r->count++] = p->lr;
}

/* The recipe on the tiny model, with further settings KEY, VALUE, .. */
static train_settings tiny_recipe(const char *name, const char *const *more)
{
    static const char *const keep[] = {
        "dim",         "16", "depth",        "2", "heads",         "2",
        "mixer.n_ssm", "1",  "batch",        "8", "mixer.d_state", "3",
        "save_every",  "3",  "save_minutes", "0", "crop_padding",  "2",
        NULL};
    const train_settings run = tiny();
    train_settings s = model_with("vit-mini", "ssm2d");
    if (recipe_apply(find(name), &run, &s, &error)
        || train_settings_set(&s, "test", "data", path_of("data"), &error))
        fail_msg("%s", error.line);
    for (int k = 0; k < 2; k++)
        for (const char *const *at = k ? more : keep; *at; at += 2)
            if (train_settings_set(&s, "test", at[0], at[1], &error)) fail_msg("%s", error.line);
    return s;
}

static rates rates_of(const char *run, const train_settings *s)
{
    static rates r;
    ssm2d_context *context = make(1);
    train_result result;
    const run_control hooks = {.user = &r, .step = note_rate};
    r.count = 0;
    if (train_begin(context, path_of(run), s, &hooks, &result, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
    return r;
}

static void close_to(double x, double expected)
{
    if (!(fabs(x - expected) <= 1e-12)) fail_msg("%.17g instead of %.17g", x, expected);
}

/* timm's cosine: by epochs, without an offset for the warm-up, and two epochs of cooling down. */
static void test_deit_rates_equal_those_of_timm(void **state)
{
    (void)state;
    static const char *const more[] = {
        "epochs", "8", "cooldown_epochs", "2", "warmup_epochs", "2", "batch", "4", "lr_batch",
        "2",      NULL};
    const train_settings s = tiny_recipe("deit", more);
    const rates r = rates_of("run", &s);
    const double peak = 5e-4 * 4 / 2;
    assert_int_equal(r.count, 10 * (TRAIN / 4));
    for (long i = 0; i < r.count; i++) {
        const double e = (double)(i / (TRAIN / 4));
        const double cosine = 1e-5 + 0.5 * (peak - 1e-5) * (1 + cos(3.141592653589793 * e / 8));
        close_to(r.lr[i], e < 2 ? 1e-6 + (peak - 1e-6) * e / 2 : e < 8 ? cosine : 1e-5);
    }
}

/* A line from the peak to 0, by steps, and three passes over the images in an epoch. */
static void test_lra_rates_fall_linearly_to_zero(void **state)
{
    (void)state;
    static const char *const more[] = {"epochs",       "2", "repeats", "3", "lr", "0.001",
                                       "val_fraction", "0", NULL};
    const train_settings s = tiny_recipe("lra", more);
    const rates r = rates_of("run", &s);
    const long steps = 2 * (3 * TRAIN / BATCH), warmup = lround(0.05 * (double)steps);
    assert_int_equal(r.count, steps);
    for (long i = 0; i < steps; i++)
        close_to(r.lr[i], i < warmup
                              ? 1e-7 + (1e-3 - 1e-7) * (double)i / (double)warmup
                              : 1e-3 * (1 - (double)(i - warmup) / (double)(steps - warmup)));
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Stopped in the middle of an epoch and resumed with another number of workers and with low
 * memory: the same weights, moments and averages to the bit. */
static void test_resumes_to_the_bit(void **state)
{
    (void)state;
    static const char *const names[] = {"small", "deit", "lra", "small", "lra"};
    static const char *const optimizers[] = {"adamw", "adamw", "adamw", "sgd", "lion"};
    for (int i = 0; i < 5; i++) {
        const char *const more[] = {"epochs",    "2",           "cooldown_epochs", "1",      "lr",
                                    "0.002",     "ema",         "0.99996",         "warmup", "0.1",
                                    "optimizer", optimizers[i], "nesterov",        "true",   NULL};
        train_settings s = tiny_recipe(names[i], more);
        ssm2d_context *context = make(2);
        train_result result;
        char whole[16], parts[16];
        snprintf(whole, sizeof whole, "whole%d", i);
        snprintf(parts, sizeof parts, "parts%d", i);
        if (train_begin(context, path_of(whole), &s, NULL, &result, &error))
            fail_msg("%s", error.line);
        const ending e = load(path_of(whole));
        s.options.workers = 2;
        stopper stop = {4, 0};
        const run_control hooks = {.user = &stop, .stop = stop_at};
        if (train_begin(context, path_of(parts), &s, &hooks, &result, &error))
            fail_msg("%s", error.line);
        assert_int_equal(result.stopped, 1);
        const train_changes changes = {.workers = "3", .memory = "low"};
        if (train_resume_changed(context, path_of(parts), &changes, NULL, &result, &error))
            fail_msg("%s", error.line);
        assert_int_equal(result.step, e.state.step);
        assert_same(&e, path_of(parts));
        assert_memory_not_equal(e.state.arrays.average, e.state.arrays.weights,
                                e.state.count * sizeof *e.state.arrays.weights);
        free(e.memory);
        ssm2d_context_destroy(context);
    }
}

/* The mean and deviation of the settings are what the run's own evaluation and prediction use. */
static void test_normalisation_of_settings_is_used(void **state)
{
    (void)state;
    static const char *const more[] = {"epochs", "1", NULL};
    const train_settings s = tiny_recipe("lra", more);
    rates_of("run", &s);
    ssm2d_context *context = make(1);
    run_model m;
    if (run_model_open(context, path_of("run"), RUN_MODEL, NULL, &m, &error))
        fail_msg("%s", error.line);
    assert_true(m.data.norm.mean[0] == 0.48f && m.data.norm.std[0] == 0.24f);
    run_model_close(&m);
    ssm2d_context_destroy(context);
}

int main(void)
{
#define RUN(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {RUN(test_every_recipe_line_has_an_effect),
                                       RUN(test_conditions_choose_by_model_and_mixer),
                                       RUN(test_deit_rates_equal_those_of_timm),
                                       RUN(test_lra_rates_fall_linearly_to_zero),
                                       RUN(test_resumes_to_the_bit),
                                       RUN(test_normalisation_of_settings_is_used)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
