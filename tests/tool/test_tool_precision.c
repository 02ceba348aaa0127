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

/* bf16 trains to other weights than float32, the same on any number of threads; a run keeps it;
 * auto is replaced by what it has chosen. */
static void test_precision_is_kept(void **state)
{
    (void)state;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("float32"), SMALL);
    assert_wrote("float32/");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("bf16"), SMALL, "--precision",
         "bf16");
    assert_wrote("bf16/");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("four"), SMALL, "--precision",
         "bf16", "--threads", "4");
    assert_wrote("four/");
    assert_same_file(in_folder("bf16/model.safetensors"), in_folder("four/model.safetensors"));
    size_t size, other;
    char *exact = get_file(in_folder("float32/model.safetensors"), &size),
         *rounded = get_file(in_folder("bf16/model.safetensors"), &other);
    assert_int_equal(size, other);
    assert_true(memcmp(exact, rounded, size) != 0);
    free(exact);
    free(rounded);
    TOOL("train", "--resume", in_folder("bf16"), "--precision", "float32");
    assert_refused(2, "train", "--precision");
    char *settings = get_file(in_folder("bf16/train.json"), &size);
    assert_non_null(strstr(settings, "\"precision\":\t\"bf16\""));
    free(settings);
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("auto"), SMALL, "--precision",
         "auto", "--epochs", "1");
    assert_wrote("auto/");
    settings = get_file(in_folder("auto/train.json"), &size);
    assert_null(strstr(settings, "\"auto\""));
    free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_precision_is_kept, setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
