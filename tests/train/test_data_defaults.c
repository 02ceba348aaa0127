/* Settings that were not given: defaults that depend on the number and kind of images. */
#include "../io_helpers.h"

#include "train/data_defaults.h"
#include "train/recipes.h"

/* Default settings of a new run on this many images. */
static data_defaults chosen_for(dataset_format format, size_t images, const char *key,
                                const char *value, train_settings *s)
{
    const dataset_info info = {.count = images, .format = format};
    data_defaults chosen = {0};
    assert_int_equal(train_settings_begin(s, &error), SSM2D_OK);
    train_settings_leave_open(s);
    if (key) assert_int_equal(train_settings_set(s, "--", key, value, &error), SSM2D_OK);
    assert_int_equal(data_defaults_fit(s, &info, &chosen, &error), SSM2D_OK);
    return chosen;
}

static void test_batch_and_epochs_follow_the_number_of_images(void **state)
{
    (void)state;
    static const struct {
        size_t images;
        int batch, epochs;
    } kinds[] = {{1, 1, 300},     {9, 1, 34},       {20, 2, 30},     {172, 16, 30},
                 {639, 32, 16},   {1279, 64, 16},   {1280, 128, 30}, {5000, 128, 8},
                 {50000, 128, 4}, {1281167, 128, 4}};
    train_settings s;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const data_defaults c = chosen_for(FORMAT_ARRAYS, kinds[i].images, NULL, NULL, &s);
        assert_int_equal(s.options.batch, kinds[i].batch);
        assert_int_equal(s.options.epochs, kinds[i].epochs);
        assert_true(c.batch && c.epochs && !c.flip && !c.resized_crop);
        /* some hundred steps, and at most an eighth of the images in a batch, if possible */
        const size_t steps = kinds[i].images / (size_t)s.options.batch;
        assert_true(steps * (size_t)s.options.epochs >= DEFAULTS_STEPS);
        assert_true(s.options.batch == 1 || 8 * (size_t)s.options.batch <= kinds[i].images);
    }
    /* given settings stay, and the others fit them */
    data_defaults c = chosen_for(FORMAT_PHOTOS, 172, "batch", "64", &s);
    assert_true(!c.batch && c.epochs && c.flip && c.resized_crop);
    assert_int_equal(s.options.batch, 64);
    assert_int_equal(s.options.epochs, 150); /* of 2 steps */
    c = chosen_for(FORMAT_PHOTOS, 172, "epochs", "3", &s);
    assert_true(c.batch && !c.epochs);
    assert_int_equal(s.options.epochs, 3);
    assert_false(chosen_for(FORMAT_PHOTOS, 172, "flip", "false", &s).flip);
    assert_false(chosen_for(FORMAT_PHOTOS, 172, "crop_padding", "4", &s).resized_crop);
    /* named data sets keep the defaults, so that earlier results are reproduced */
    c = chosen_for(FORMAT_NAMED, 172, NULL, NULL, &s);
    assert_false(c.batch || c.epochs || c.flip || c.resized_crop);
    assert_int_equal(s.options.batch, 128);
    assert_int_equal(s.options.epochs, 4);
    /* so do the settings of a file, of experiments and of a recipe */
    const dataset_info photos = {.count = 172, .format = FORMAT_PHOTOS};
    for (int turn = 0; turn < 3; turn++) {
        assert_int_equal(
            turn ? train_settings_begin(&s, &error) : train_settings_default(&s, &error), SSM2D_OK);
        if (turn == 2) {
            train_settings run = s;
            train_settings_leave_open(&s);
            assert_int_equal(recipe_apply(recipe_find("quick", &error), &run, &s, &error),
                             SSM2D_OK);
        }
        c = (data_defaults){0};
        assert_int_equal(data_defaults_fit(&s, &photos, &c, &error), SSM2D_OK);
        assert_false(c.batch || c.epochs || c.flip || c.resized_crop);
        assert_int_equal(s.options.batch, 128);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_batch_and_epochs_follow_the_number_of_images, io_begin)};
    return cmocka_run_group_tests_name("data_defaults", tests, io_setup, io_teardown);
}
