/* Settings of a run: from text and files and back, and what is said about wrong ones. */
#include "../io_helpers.h"

#include "train/options.h"

static void test_table(void **state)
{
    (void)state;
    for (int i = 0; i < train_field_count; i++) {
        const train_field *f = &train_fields[i];
        char name[64];
        snprintf(name, sizeof name, "%s", f->field);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = '-';
        assert_string_equal(name, f->name);
        train_options o;
        train_options_default(&o);
        if (train_options_set(&o, f->name, f->standard, &error)) fail_msg("%s: its default is refused: %s", f->name, error.line);
        assert_int_equal(train_options_set(&o, f->field, f->standard, &error), SSM2D_OK);
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
    assert_line("unknown setting smothing; did you mean smoothing?");
    assert_int_not_equal(train_options_set(&o, "xyzzyplugh", "1", &error), SSM2D_OK);
    assert_line("see ssm2d train --help");
    static const char *const wrong[][3] = {{"epochs", "0", "from 1 to"},  {"epochs", "2.5", "whole number"},
                                           {"epochs", "", "whole number"}, {"lr", "fast", "a number from 0"},
                                           {"lr", "nan", "a number"},      {"lr", "1e-3x", "a number"},
                                           {"schedule", "linear", "one of cosine, constant"},
                                           {"loss", "mse", "one of cross-entropy, bce"},
                                           {"data", "", "not empty"},      {"ema", "1", "from 0 to 0.999999999"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_not_equal(train_options_set(&o, wrong[i][0], wrong[i][1], &error), SSM2D_OK);
        assert_line(wrong[i][2]);
        assert_line(wrong[i][0]);
    }
    char *text = malloc(2000);
    memset(text, 'x', 1999);
    text[1999] = 0;
    assert_int_not_equal(train_options_set(&o, "data", text, &error), SSM2D_OK);
    assert_line("less than 1024");
    free(text);
}

static void test_json_and_back(void **state)
{
    (void)state;
    train_options o, back;
    train_options_default(&o);
    o.lr = 1.0 / 3;
    o.clip = 1e-17;
    o.epochs = 999999;
    strcpy(o.data, "a \"strange\"\nname");
    o.loss = TRAIN_LOSS_BCE;
    cJSON *json = train_options_to_json(&o);
    assert_non_null(json);
    char *text = cJSON_Print(json);
    io_put("o.json", text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(json);
    train_options_default(&back);
    if (train_options_read(context, io_path("o.json"), &back, &error)) fail_msg("%s", error.line);
    assert_memory_equal(&o, &back, sizeof o);
}

static void test_files(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"[]", "not a JSON object"},
                                           {"{\"lr\": \"big\"}", "\"lr\" is \"big\": use a number"},
                                           {"{\"lr\": null}", "\"lr\" is null"},
                                           {"{\"epochs\": 2.5}", "\"epochs\" is 2.5: use a whole number"},
                                           {"{\"epochs\": 1e30}", "\"epochs\" is 1"},
                                           {"{\"schedule\": \"cosin\"}", "\"schedule\" is cosin: use one of"},
                                           {"{\"learning_rate\": 1}", "unknown setting \"learning_rate\""},
                                           {"{\"epoch\": 1}", "did you mean epochs?"},
                                           {"{\"lr\": 1", "o.json"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        train_options o;
        train_options_default(&o);
        io_put("o.json", wrong[i][0], strlen(wrong[i][0]));
        assert_int_not_equal(train_options_read(context, io_path("o.json"), &o, &error), SSM2D_OK);
        assert_line(wrong[i][1]);
        assert_line("o.json");
    }
}

static void test_together(void **state)
{
    (void)state;
    train_options o;
    train_options_default(&o);
    o.lr_start = 1;
    assert_int_not_equal(train_options_check(&o, &error), SSM2D_OK);
    assert_line("lr_start=1 is above lr=0.001");
    train_options_default(&o);
    o.lr_final = 1;
    assert_int_not_equal(train_options_check(&o, &error), SSM2D_OK);
    o.schedule = 1;
    assert_int_equal(train_options_check(&o, &error), SSM2D_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_table, io_begin), cmocka_unit_test_setup(test_set, io_begin),
        cmocka_unit_test_setup(test_json_and_back, io_begin), cmocka_unit_test_setup(test_files, io_begin),
        cmocka_unit_test_setup(test_together, io_begin),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
