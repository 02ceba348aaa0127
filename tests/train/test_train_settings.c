/* Settings of a run: from text and files and back, and messages about wrong ones. */
#include "../io_helpers.h"

#include "layers/ssm2d/ssm2d_config.h"
#include "models/vit.h"
#include "train/settings.h"

static void test_every_field_has_help_bounds_and_default(void **state)
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

static void test_options_are_set_from_text(void **state)
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
                                           {"schedule", "sqrt", "cosine, constant or linear"},
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

static train_settings default_settings(void)
{
    train_settings s;
    if (train_settings_default(&s, &error)) fail_msg("%s", error.line);
    return s;
}

static void test_settings_read_back_from_json(void **state)
{
    (void)state;
    train_settings o = default_settings(), back = default_settings();
    o.options.lr = 1.0 / 3;
    o.options.clip = 1e-17;
    o.options.epochs = 999999;
    strcpy(o.options.data, "a \"strange\"\nname");
    o.options.loss = LOSS_BCE;
    if (augment_options_set(&o.augment, "flip", "true", &error)
        || augment_options_set(&o.augment, "crop_padding", "3", &error))
        fail_msg("%s", error.line);
    dataset_info data = {.count = 10, .label_count = 7, .channels = 3, .rows = 20, .cols = 28};
    if (train_settings_set(&o, "--set", "model", "deit-t", &error)
        || train_settings_set(&o, "--set", "patch", "2", &error)
        || train_settings_set(&o, "--set", "mixer", "none", &error)
        || train_settings_fit(&o, &data, &error))
        fail_msg("%s", error.line);
    assert_int_equal(o.model.image[0], 20);
    assert_int_equal(o.model.image[1], 28);
    assert_int_equal(o.model.outputs, 7);
    cJSON *json = train_settings_to_json(&o);
    assert_non_null(json);
    char *text = cJSON_Print(json);
    io_put("o.json", text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(json);
    if (train_settings_read(context, io_path("o.json"), &back, &error)) fail_msg("%s", error.line);
    assert_memory_equal(&o.options, &back.options, sizeof o.options);
    assert_memory_equal(&o.augment, &back.augment, sizeof o.augment);
    assert_memory_equal(&o.model, &back.model, sizeof o.model);
}

static void test_keys_of_models_are_set(void **state)
{
    (void)state;
    train_settings s = default_settings();
    assert_ptr_equal(s.model.mixer.kind, &layer_ssm2d);
    assert_int_equal(s.model.outputs, 0);
    assert_int_equal(train_settings_set(&s, "--set", "mixer.directions", "2", &error), SSM2D_OK);
    assert_int_equal(ssm2d_config_of(&s.model.mixer.values)->directions, 2);
    assert_int_equal(train_settings_set(&s, "--set", "flip", "true", &error), SSM2D_OK);
    augment_options flipped = augment_options_default();
    assert_memory_not_equal(&s.augment, &flipped, sizeof flipped);
    assert_int_equal(augment_options_set(&flipped, "flip", "true", &error), SSM2D_OK);
    assert_memory_equal(&s.augment, &flipped, sizeof flipped);
    assert_int_equal(train_settings_set(&s, "--set", "log-every", "9", &error), SSM2D_OK);
    assert_int_equal(s.options.log_every, 9);
    /* another model resets the settings of the one before, but not the rest */
    assert_int_equal(train_settings_set(&s, "--model", "model", "vit", &error), SSM2D_OK);
    assert_int_equal(ssm2d_config_of(&s.model.mixer.values)->directions, 4);
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
        {"mixer", "ssm3d",
         "use none, ssm2d, s4nd, ema, conv, "
         "ssm2d_selective, ss2d, mamba2d, scan2d, chimera or roesser"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_not_equal(train_settings_set(&s, "--set", wrong[i][0], wrong[i][1], &error),
                             SSM2D_OK);
        assert_line(wrong[i][2]);
        assert_line("--set");
    }
}

/* An augmentation with an option of every type, which settings know only by its fields. */
typedef struct kinds_options {
    int whole, flag, choice, pair[2];
    double real;
    char text[SSM2D_TEXT];
    ssm2d_list list;
} kinds_options;

static const char *const kinds_names[] = {"one", "two", NULL};
#define KIND(kind, field, low, high, default_value, names)                                         \
    {                                                                                              \
        "kinds_" #field, "of that kind", SSM2D_KIND_##kind, offsetof(kinds_options, field), low,   \
            high, default_value, names, NULL                                                       \
    }
static const ssm2d_field kinds_fields[] = {KIND(INT, whole, -5, 5, "-3", NULL),
                                           KIND(FLAG, flag, 0, 1, "true", NULL),
                                           KIND(CHOICE, choice, 0, 0, "two", kinds_names),
                                           KIND(PAIR, pair, 1, 99, "4x6", NULL),
                                           KIND(REAL, real, 0, 1, "0.1", NULL),
                                           KIND(TEXT, text, 0, 0, "rand-m9", NULL),
                                           KIND(LIST, list, 0, 9, "1,2,3", NULL),
                                           {0}};
#undef KIND

static int kinds_is_on(const void *options)
{
    (void)options;
    return 0;
}

static ssm2d_status kinds_check(const void *options, ssm2d_error *why)
{
    const kinds_options *o = options;
    if (o->pair[0] <= o->pair[1]) return SSM2D_OK;
    snprintf(why->line, sizeof why->line, "kinds_pair falls");
    return SSM2D_ERROR_ARGUMENT;
}

static const augmentation kinds = {
    .name = "kinds",
    .help = "options of every kind",
    .fields = kinds_fields,
    .options_size = sizeof(kinds_options),
    .purpose = (rng_purpose)1000,
    .when = AUGMENT_TRAINING,
    .is_on = kinds_is_on,
    .check = kinds_check,
};

static void test_augmentation_settings_read_back(void **state)
{
    (void)state;
    static const char *const given[][2] = {{"kinds_whole", "5"},    {"kinds_flag", "false"},
                                           {"kinds-choice", "one"}, {"kinds_pair", "7x8"},
                                           {"kinds_real", "0.3"},   {"kinds_text", "a \"b\""},
                                           {"kinds_list", "4,5,6"}, {"flip", "true"}};
    int count = 0;
    while (augmentation_at(count)) count++;
    augmentation_extra = (const augmentation *const[]){&kinds, NULL};
    train_settings s = default_settings(), back = default_settings();
    const kinds_options *o = augment_options_at(&s.augment, count);
    assert_true(o->whole == -3 && o->flag == 1 && o->choice == 1 && o->pair[1] == 6);
    assert_true(o->real == 0.1 && !strcmp(o->text, "rand-m9") && o->list.count == 3);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (train_settings_set(&s, "--set", given[i][0], given[i][1], &error))
            fail_msg("%s", error.line);
    assert_true(o->whole == 5 && o->flag == 0 && o->choice == 0 && o->pair[0] == 7);
    assert_true(o->real == 0.3 && !strcmp(o->text, "a \"b\"") && o->list.at[2] == 6);
    cJSON *json = train_settings_to_json(&s);
    assert_non_null(json);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(json, "flip")));
    assert_string_equal(cJSON_GetObjectItem(json, "kinds_choice")->valuestring, "one");
    cJSON_DeleteItemFromObject(json, "image"); /* still open */
    cJSON_DeleteItemFromObject(json, "channels");
    cJSON_DeleteItemFromObject(json, "classes");
    if (train_settings_from_json(&back, "x.json", json, &error)) fail_msg("%s", error.line);
    assert_memory_equal(&s.augment, &back.augment, sizeof s.augment);
    cJSON_Delete(json);
    assert_int_not_equal(train_settings_set(&s, "--set", "kinds_real", "2", &error), SSM2D_OK);
    assert_line("\"kinds_real\" is 2: use a number from 0 to 1");
    assert_int_not_equal(train_settings_set(&s, "--set", "kinds_reel", "0", &error), SSM2D_OK);
    assert_line("did you mean kinds_real?");
    dataset_info data = {.count = 10, .label_count = 7, .channels = 1, .rows = 28, .cols = 28};
    assert_int_equal(train_settings_set(&s, "--set", "kinds_pair", "8x7", &error), SSM2D_OK);
    assert_int_not_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_line("kinds_pair falls");
    augmentation_extra = NULL;
}

/* A file of a run from before there were other augmentations and labels. */
static void test_older_file_keeps_its_meaning(void **state)
{
    (void)state;
    static const char file[] = "{\"data\": \"d\", \"loss\": \"cross-entropy\", "
                               "\"smoothing\": 0.2, \"flip\": true, \"crop_padding\": 4}";
    train_settings s = default_settings();
    augment_options expected = s.augment;
    io_put("o.json", file, strlen(file));
    if (train_settings_read(context, io_path("o.json"), &s, &error)
        || augment_options_set(&expected, "flip", "true", &error)
        || augment_options_set(&expected, "crop_padding", "4", &error))
        fail_msg("%s", error.line);
    assert_memory_equal(&s.augment, &expected, sizeof expected);
    assert_true(s.options.smoothing == 0.2 && s.options.binary_smoothing == 0);
    /* binary labels have only one loss */
    dataset_info data = {.count = 1, .label_count = 7, .channels = 1, .rows = 28, .cols = 28};
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.options.loss, LOSS_CROSS_ENTROPY);
    assert_string_equal(task_names[s.options.task], "classification"); /* it was auto */
    data.labels = LABEL_BINARY;
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("task=classification: needs data with one class per image");
    s.options.task = 0;
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_string_equal(task_names[s.options.task], "attributes");
    assert_int_equal(s.options.loss, LOSS_BCE);
}

static void test_model_fits_the_data(void **state)
{
    (void)state;
    dataset_info data = {.count = 10, .label_count = 7, .channels = 1, .rows = 28, .cols = 28};
    train_settings s = default_settings();
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[0], 28);
    assert_int_equal(s.model.channels, 1);
    /* sizes that vary, or cannot be cut into patches: the model's */
    s = default_settings();
    data.rows = data.cols = 0;
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[0], 32);
    s = default_settings();
    data.rows = data.cols = 30;
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[1], 32);
    /* given settings take precedence */
    s = default_settings();
    assert_int_equal(train_settings_set(&s, "--set", "image", "[16, 20]", &error), SSM2D_OK);
    assert_int_equal(train_settings_set(&s, "--set", "channels", "3", &error), SSM2D_OK);
    assert_int_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_int_equal(s.model.image[1], 20);
    assert_int_equal(s.model.channels, 3);
    s = default_settings();
    assert_int_equal(train_settings_set(&s, "--set", "classes", "8", &error), SSM2D_OK);
    assert_int_not_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_line("the model has 8 classes, but the data have 7");
    s = default_settings();
    assert_int_equal(train_settings_set(&s, "--set", "channels", "2", &error), SSM2D_OK);
    assert_int_not_equal(train_settings_fit(&s, &data, &error), SSM2D_OK);
    assert_line("images have 1 or 3");
}

static void test_bad_files_are_refused(void **state)
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
        train_settings s = default_settings();
        io_put("o.json", wrong[i][0], strlen(wrong[i][0]));
        assert_int_not_equal(train_settings_read(context, io_path("o.json"), &s, &error), SSM2D_OK);
        assert_line(wrong[i][1]);
        assert_line("o.json");
    }
    static const char good[] = "{\"model\": \"vit\", \"dim\": 48, \"epochs\": 2, \"flip\": false, "
                               "\"mixer\": {\"kind\": \"ssm2d\", \"n_ssm\": 3}}";
    train_settings s = default_settings();
    io_put("o.json", good, strlen(good));
    if (train_settings_read(context, io_path("o.json"), &s, &error)) fail_msg("%s", error.line);
    assert_int_equal(vit_of(&s.model)->dim, 48);
    assert_int_equal(ssm2d_config_of(&s.model.mixer.values)->n_ssm, 3);
    assert_int_equal(s.model.image[0], 0);
    assert_int_equal(s.options.epochs, 2);
}

static void test_contradictory_options_are_refused(void **state)
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

/* Every key that does not affect results is the name of a setting. */
static void test_keys_that_do_not_affect_results_exist(void **state)
{
    (void)state;
    static const char *const others[] = {"workers",      "memory",     "log_every", "save_every",
                                         "save_minutes", "bad_images", "max_pixels"};
    train_settings s;
    assert_int_equal(train_settings_default(&s, &error), SSM2D_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_true(train_settings_have(&s, others[i]));
        assert_false(train_setting_affects_result(others[i]));
    }
    assert_true(train_setting_affects_result("lr") && train_setting_affects_result("decay_of"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_that_do_not_affect_results_exist),
        cmocka_unit_test_setup(test_every_field_has_help_bounds_and_default, io_begin),
        cmocka_unit_test_setup(test_options_are_set_from_text, io_begin),
        cmocka_unit_test_setup(test_settings_read_back_from_json, io_begin),
        cmocka_unit_test_setup(test_bad_files_are_refused, io_begin),
        cmocka_unit_test_setup(test_contradictory_options_are_refused, io_begin),
        cmocka_unit_test_setup(test_keys_of_models_are_set, io_begin),
        cmocka_unit_test_setup(test_model_fits_the_data, io_begin),
        cmocka_unit_test_setup(test_augmentation_settings_read_back, io_begin),
        cmocka_unit_test_setup(test_older_file_keeps_its_meaning, io_begin),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
