/* Settings of a run: from text and files and back, and what is said about wrong ones. */
#include "../io_helpers.h"

#include "mixers/ssm2d_mixer.h"
#include "models/vit.h"
#include "train/settings.h"

static void test_table(void **state)
{
    (void)state;
    for (const ssm2d_field *f = train_fields; f->name; f++) {
        char name[64]; /* as on the command line */
        snprintf(name, sizeof name, "%s", f->name);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = '-';
        train_options o;
        train_options_default(&o);
        if (train_options_set(&o, name, f->default_value, &error))
            fail_msg("default of %s: %s", f->name, error.line);
        assert_int_equal(train_options_set(&o, f->name, f->default_value, &error), SSM2D_OK);
    }
    train_options o;
    train_options_default(&o);
    assert_int_equal(train_options_check(&o, &error), SSM2D_OK);
}

static void test_set(void **state)
{
    (void)state;
    train_options o;
    train_options_default(&o);
    assert_int_equal(train_options_set(&o, "lr", "3e-4", &error), SSM2D_OK);
    assert_true(o.lr == 3e-4);
    assert_int_equal(train_options_set(&o, "log-every", "7", &error), SSM2D_OK);
    assert_int_equal(o.log_every, 7);
    assert_int_equal(train_options_set(&o, "schedule", "constant", &error), SSM2D_OK);
    assert_int_equal(o.schedule, 1);
    assert_int_equal(train_options_set(&o, "data", "/some/folder", &error), SSM2D_OK);
    assert_string_equal(o.data, "/some/folder");

    assert_int_not_equal(train_options_set(&o, "smothing", "1", &error), SSM2D_OK);
    assert_line("there is no setting smothing");
    static const char *const wrong[][3] = {{"epochs", "0", "from 1 to"},
                                           {"epochs", "2.5", "whole number"},
                                           {"epochs", "", "whole number"},
                                           {"lr", "fast", "a number from 0"},
                                           {"lr", "nan", "a number"},
                                           {"lr", "1e-3x", "a number"},
                                           {"schedule", "linear", "cosine or constant"},
                                           {"loss", "mse", "cross-entropy or bce"},
                                           {"data", "", "a text of 1 to 1023 bytes"},
                                           {"ema", "1", "from 0 to 0.999999999"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_not_equal(train_options_set(&o, wrong[i][0], wrong[i][1], &error), SSM2D_OK);
        assert_line(wrong[i][2]);
        assert_line(wrong[i][0]);
    }
    char *text = malloc(2000);
    memset(text, 'x', 1999);
    text[1999] = 0;
    assert_int_not_equal(train_options_set(&o, "data", text, &error), SSM2D_OK);
    assert_line("a text of 1 to 1023 bytes");
    free(text);
}

static train_settings standard(void)
{
    train_settings s;
    if (train_settings_default(&s, &error)) fail_msg("%s", error.line);
    return s;
}

static void test_json_and_back(void **state)
{
    (void)state;
    train_settings o = standard(), back = standard();
    o.options.lr = 1.0 / 3;
    o.options.clip = 1e-17;
    o.options.epochs = 999999;
    strcpy(o.options.data, "a \"strange\"\nname");
    o.options.loss = TRAIN_LOSS_BCE;
    o.augment.flip = !o.augment.flip;
    o.augment.crop_padding = 3;
    dataset_info data = {.count = 10, .classes = 7, .channels = 3, .rows = 20, .cols = 28};
    if (train_settings_set(&o, "--set", "model", "deit-t", &error)
        || train_settings_set(&o, "--set", "patch", "2", &error)
        || train_settings_set(&o, "--set", "mixer", "none", &error)
        || train_settings_fit(&o, &data, &error))
        fail_msg("%s", error.line);
    assert_int_equal(o.model.image[0], 20);
    assert_int_equal(o.model.image[1], 28);
    assert_int_equal(o.model.classes, 7);
    cJSON *json = train_settings_to_json(&o);
    assert_non_null(json);
    char *text = cJSON_Print(json);
    io_put("o.json", text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(json);
    if (train_settings_read(context, io_path("o.json"), 0, &back, &error))
        fail_msg("%s", error.line);
    assert_memory_equal(&o.options, &back.options, sizeof o.options);
    assert_memory_equal(&o.augment, &back.augment, sizeof o.augment);
    assert_memory_equal(&o.model, &back.model, sizeof o.model);
}

static void test_keys(void **state)
{
    (void)state;
    train_settings s = standard();
    assert_ptr_equal(s.model.mixer.kind, &mixer_ssm2d);
    assert_int_equal(s.model.classes, 0);
    assert_int_equal(train_settings_set(&s, "--set", "mixer.directions", "2", &error), SSM2D_OK);
    assert_int_equal(ssm2d_mixer_of(&s.model.mixer)->layer.directions, 2);
    assert_int_equal(train_settings_set(&s, "--set", "flip", "false", &error), SSM2D_OK);
    assert_int_equal(s.augment.flip, 0);
    assert_int_equal(train_settings_set(&s, "--set", "log-every", "9", &error), SSM2D_OK);
    assert_int_equal(s.options.log_every, 9);
    /* another model forgets what was said about the one before, but not the rest */
    assert_int_equal(train_settings_set(&s, "--model", "model", "vit", &error), SSM2D_OK);
    assert_int_equal(ssm2d_mixer_of(&s.model.mixer)->layer.directions, 4);
    assert_int_equal(s.options.log_every, 9);
    static const char *const wrong[][3] = {
        {"smothing", "1", "did you mean smoothing?"},
        {"crop_paddin", "1", "did you mean crop_padding?"},
        {"mixer.direction", "1", "did you mean \"mixer.directions\"?"},
        {"mixer.complxe", "true", "did you mean \"mixer.complex\"?"},
        {"xyzzyplugh", "1", "see ssm2d train --help"},
        {"flip", "maybe", "\"flip\" is \"maybe\": use true or false"},
        {"crop_padding", "-1", "\"crop_padding\" is -1: use a whole number"},
        {"dim", "0", "\"dim\" is 0"},
        {"model", "vit-mni", "did you mean \"vit-mini\"?"},
        {"mixer", "ssm3d", "use none or ssm2d"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_not_equal(train_settings_set(&s, "--set", wrong[i][0], wrong[i][1], &error),
                             SSM2D_OK);
        assert_line(wrong[i][2]);
        assert_line("--set");
    }
}

static void test_fit(void **state)
{
    (void)state;
    dataset_info data = {.count = 10, .classes = 7, .channels = 1, .rows = 28, .cols = 28};
    train_settings s = standard();
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[0], 28);
    assert_int_equal(s.model.channels, 1);
    /* sizes that vary, or cannot be cut into patches: the model's */
    s = standard();
    data.rows = data.cols = 0;
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[0], 32);
    s = standard();
    data.rows = data.cols = 30;
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[1], 32);
    /* what is given wins */
    s = standard();
    assert_int_equal(train_settings_set(&s, "--set", "image", "[16, 20]", &error), SSM2D_OK);
    assert_int_equal(train_settings_set(&s, "--set", "channels", "3", &error), SSM2D_OK);
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[1], 20);
    assert_int_equal(s.model.channels, 3);
    s = standard();
    assert_int_equal(train_settings_set(&s, "--set", "classes", "8", &error), SSM2D_OK);
    assert_int_not_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_line("the model has 8 classes and the data have 7");
    s = standard();
    assert_int_equal(train_settings_set(&s, "--set", "channels", "2", &error), SSM2D_OK);
    assert_int_not_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_line("images have 1 or 3");
}

static void test_files(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"[]", "use an object"},
        {"{\"lr\": \"big\"}", "\"lr\" is \"big\": use a number"},
        {"{\"lr\": null}", "\"lr\" is null"},
        {"{\"epochs\": 2.5}", "\"epochs\" is 2.5: use a whole number"},
        {"{\"epochs\": 1e30}", "\"epochs\" is 1"},
        {"{\"schedule\": \"cosin\"}", "\"schedule\" is \"cosin\": use cosine"},
        {"{\"flip\": 1}", "\"flip\" is 1: use true or false"},
        {"{\"epoch\": 1}", "did you mean \"epochs\"?"},
        {"{\"dimm\": 1}", "did you mean \"dim\"?"},
        {"{\"model\": \"vitt\"}", "did you mean"},
        {"{\"lr\": 1", "o.json"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        train_settings s = standard();
        io_put("o.json", wrong[i][0], strlen(wrong[i][0]));
        assert_int_not_equal(train_settings_read(context, io_path("o.json"), 0, &s, &error),
                             SSM2D_OK);
        assert_line(wrong[i][1]);
        assert_line("o.json");
    }
    static const char good[] = "{\"model\": \"vit\", \"dim\": 48, \"epochs\": 2, \"flip\": false, "
                               "\"mixer\": {\"kind\": \"ssm2d\", \"n_ssm\": 3}}";
    train_settings s = standard();
    io_put("o.json", good, strlen(good));
    if (train_settings_read(context, io_path("o.json"), 0, &s, &error)) fail_msg("%s", error.line);
    assert_int_equal(vit_of(&s.model)->dim, 48);
    assert_int_equal(ssm2d_mixer_of(&s.model.mixer)->layer.n_ssm, 3);
    assert_int_equal(s.model.image[0], 0);
    assert_int_equal(s.options.epochs, 2);
}

static void test_together(void **state)
{
    (void)state;
    train_options o;
    train_options_default(&o);
    o.lr_start = 1;
    assert_int_not_equal(train_options_check(&o, &error), SSM2D_OK);
    assert_line("lr_start=1 is above lr=0.002");
    train_options_default(&o);
    o.lr_final = 1;
    assert_int_not_equal(train_options_check(&o, &error), SSM2D_OK);
    o.schedule = 1;
    assert_int_equal(train_options_check(&o, &error), SSM2D_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_table, io_begin),
        cmocka_unit_test_setup(test_set, io_begin),
        cmocka_unit_test_setup(test_json_and_back, io_begin),
        cmocka_unit_test_setup(test_files, io_begin),
        cmocka_unit_test_setup(test_together, io_begin),
        cmocka_unit_test_setup(test_keys, io_begin),
        cmocka_unit_test_setup(test_fit, io_begin),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
