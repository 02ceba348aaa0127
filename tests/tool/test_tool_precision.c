/* ssm2d train --precision. */
#include "tool_run.h"

#include "../train/small_data.h"

#include <sys/stat.h>

#define SMALL                                                                                      \
    "--batch", "8", "--epochs", "3", "--set", "dim=16", "--set", "depth=2", "--set", "heads=2",    \
        "--set", "mixer.d_state=3", "--set", "crop_padding=0", "--lr", "0.005"

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 20) ? 0 : -1;
}

/* The kinds of bf16 train to other weights than float32 and than each other, the same on any number
 * of threads; a run keeps its kind. */
static void test_precision_is_kept(void **state)
{
    (void)state;
    static const char *const kinds[] = {"float32", "bf16", "bf16-tiles"}, *const names[] = {
                                                                              "float32/", "bf16/",
                                                                              "bf16-tiles/"};
    size_t size, other;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("float32"), SMALL);
    assert_wrote("float32/");
    char *before = get_file(in_folder("float32/model.safetensors"), &size);
    for (int i = 1; i < 3; i++) {
        TOOL("train", "--data", in_folder("data"), "--out", in_folder("%s", kinds[i]), SMALL,
             "--precision", kinds[i]);
        assert_wrote(names[i]);
        for (int threads = 2; threads <= 4; threads++) {
            char count[2] = {(char)('0' + threads), 0}, name[24];
            snprintf(name, sizeof name, "%s%d/", kinds[i], threads);
            TOOL("train", "--data", in_folder("data"), "--out", in_folder("%s", name), SMALL,
                 "--precision", kinds[i], "--threads", count);
            assert_wrote(name);
            assert_same_file(in_folder("%s/model.safetensors", kinds[i]),
                             in_folder("%s%d/model.safetensors", kinds[i], threads));
        }
        char *rounded = get_file(in_folder("%s/model.safetensors", kinds[i]), &other);
        assert_int_equal(size, other);
        assert_true(memcmp(before, rounded, size) != 0);
        free(before);
        before = rounded;
        char *settings = get_file(in_folder("%s/train.json", kinds[i]), &other);
        char *text = strstr(settings, "\"precision\":\t\"");
        assert_non_null(text);
        text += strlen("\"precision\":\t\"");
        assert_int_equal(strncmp(text, kinds[i], strlen(kinds[i])), 0);
        assert_int_equal(text[strlen(kinds[i])], '"');
        free(settings);
    }
    free(before);
    TOOL("train", "--resume", in_folder("bf16"), "--precision", "float32");
    assert_refused(2, "train", "--precision");
}

/* auto is replaced by what it has chosen. */
static void test_auto_is_replaced(void **state)
{
    (void)state;
    size_t size;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("auto"), SMALL, "--precision",
         "auto", "--epochs", "1");
    assert_wrote("auto/");
    char *settings = get_file(in_folder("auto/train.json"), &size);
    assert_null(strstr(settings, "\"auto\""));
    free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_precision_is_kept, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_auto_is_replaced, setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
