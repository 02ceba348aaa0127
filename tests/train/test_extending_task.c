/* A third task (brightness_task.c), one file and one line of tasks.def, in an otherwise unchanged
 * tool: it trains, its metric chooses the best epoch, it is stopped and resumed, evaluated,
 * predicted, drawn, reported and exported. */
#include "../tool/tool_run.h"
#include "small_data.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <sys/stat.h>

enum { EPOCHS = 12, TEST = 40 };

#define SMALL                                                                                      \
    "--set", "dim=16", "--set", "depth=1", "--set", "heads=2", "--set", "mixer.d_state=3",         \
        "--batch", "8", "--epochs", "12", "--seed", "2", "--set", "lr=0.01"

static int begin(void **state)
{
    if (folder_setup(state)) return -1;
    return mkdir(in_folder("data"), 0777) || !small_data(in_folder("data"), 96, TEST) ? -1 : 0;
}

static void train(void)
{
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--set",
         "task=brightness", SMALL);
    if (tool.code) fail_msg("%s", tool.err);
}

static double number(const cJSON *root, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (!cJSON_IsNumber(item)) fail_msg("there is no number %s", key);
    return item->valuedouble;
}

/* The errors on test images of the epochs in metrics.jsonl. */
static void read_errors(double errors[EPOCHS])
{
    size_t size;
    int count = 0;
    char *text = get_file(in_folder("run/metrics.jsonl"), &size), *rest = text;
    for (char *line; (line = strtok_r(rest, "\n", &rest));) {
        if (!strstr(line, "\"kind\": \"epoch\"")) continue;
        cJSON *root = cJSON_Parse(line);
        assert_true(count < EPOCHS && number(root, "error") > 0);
        errors[count++] = number(root, "test_error");
        cJSON_Delete(root);
    }
    assert_int_equal(count, EPOCHS);
    free(text);
}

static int has(const char *path, const char *part)
{
    size_t size;
    char *text = get_file(path, &size);
    const int found = strstr(text, part) != NULL;
    free(text);
    return found;
}

static void trains_and_chooses_the_lowest_error(void **state)
{
    (void)state;
    double errors[EPOCHS];
    int best = 0;
    char line[80];
    train();
    assert_non_null(strstr(tool.out, "loss is bce, which the task brightness needs"));
    assert_non_null(strstr(tool.out, ", mean absolute error 0."));
    read_errors(errors);
    for (int i = 1; i < EPOCHS; i++)
        if (errors[i] < errors[best]) best = i;
    assert_true(errors[best] < errors[0] / 2); /* it learns */
    snprintf(line, sizeof line, "(best %.4f, epoch %d)", errors[best], best + 1);
    if (!strstr(tool.out, line)) fail_msg("%s: does not say %s", tool.out, line);
    assert_true(has(in_folder("run/data.json"), "\"task\":\t\"brightness\""));
    assert_true(has(in_folder("run/data.json"), "\"outputs\":\t1"));
    assert_true(has(in_folder("run/train.json"), "\"task\":\t\"brightness\""));
}

static void is_evaluated_and_predicted(void **state)
{
    (void)state;
    double errors[EPOCHS];
    train();
    read_errors(errors);
    TOOL("eval", in_folder("run"), "--json");
    assert_wrote_nothing();
    cJSON *root = cJSON_Parse(tool.out);
    assert_true(fabs(number(root, "error") - errors[EPOCHS - 1]) < 1e-6);
    cJSON_Delete(root);
    TOOL("eval", in_folder("run"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "40 test images of 8 x 8: loss "));
    assert_non_null(strstr(tool.out, ", mean absolute error 0."));
    TOOL("eval", in_folder("run"), "--per-class");
    assert_refused(1, "eval", "--per-class", "brightness");
    TOOL("eval", in_folder("run"), "--confusion", in_folder("c.png"));
    assert_refused(1, "eval", "--confusion");

    put_picture(in_folder("p.png"), 16, 16, 1);
    TOOL("predict", in_folder("run"), in_folder("p.png"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "/p.png: brightness 0."));
    TOOL("predict", in_folder("run"), "--csv", in_folder("p.png"));
    assert_wrote_nothing();
    assert_memory_equal(tool.out, "file,weights,brightness\n", 24);
    TOOL("predict", in_folder("run"), "--json", in_folder("p.png"));
    assert_wrote_nothing();
    root = cJSON_Parse(tool.out);
    assert_true(number(root, "brightness") > 0 && number(root, "brightness") < 1);
    cJSON_Delete(root);
}

static void is_drawn_reported_and_exported(void **state)
{
    (void)state;
    train();
    assert_true(has(in_folder("run/curves.svg"), "<svg"));
    TOOL("curves", in_folder("run"), "-o", in_folder("c.svg"), "--show", "score,test-score");
    assert_wrote("c.svg");
    TOOL("report", in_folder("run"), "-o", in_folder("r.html"), "--no-measure");
    assert_wrote("r.html");
    assert_true(has(in_folder("r.html"), "\"metric\":\"mean absolute error\",\"percent\":false"));
    assert_true(has(in_folder("r.html"), "Mean absolute error, last epoch"));
    assert_false(has(in_folder("r.html"), "<section id=\"confusion\""));
    assert_false(has(in_folder("r.html"), "<section id=\"classes\""));
    assert_false(has(in_folder("r.html"), "<section id=\"wrong\""));
    TOOL("export", in_folder("run"), "-o", in_folder("m.onnx"));
    if (tool.code && !strstr(tool.err, "built without")) fail_msg("%s", tool.err);
}

/* Its metric, a sum of real numbers, continues from a checkpoint to the same bits; and
 * augmentations of batches act on its targets. */
static void is_resumed_to_the_bit(void **state)
{
    (void)state;
    size_t one_size, two_size;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--set",
         "task=brightness", SMALL, "--set", "mixup=0.8", "--set", "cutmix=1");
    if (tool.code) fail_msg("%s", tool.err);
    shell_run("set -e; cd $FOLDER\n"
              "$SSM2D train --data data --out half --set task=brightness --set dim=16 "
              "--set depth=1 --set heads=2 --set mixer.d_state=3 --batch 8 --epochs 12 --seed 2 "
              "--set lr=0.01 --set mixup=0.8 --set cutmix=1 --set save_every=1 > out 2>&1 &\n"
              "n=0; until grep -q 'epoch 2/' out || [ $n -gt 3000 ]; do sleep .02; n=$((n+1)); "
              "done\n"
              "kill -KILL $! || true; wait $! || true\n"
              "$SSM2D train --resume half > out 2>&1");
    if (tool.code) fail_msg("%s", tool.err);
    char *one = get_file(in_folder("run/model.safetensors"), &one_size),
         *two = get_file(in_folder("half/model.safetensors"), &two_size);
    assert_int_equal(one_size, two_size);
    assert_memory_equal(one, two, one_size);
    free(one);
    free(two);
}

static void refuses_data_that_it_cannot_use(void **state)
{
    (void)state;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--set",
         "task=attributes", SMALL);
    assert_refused(1, "train", "task=attributes");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--set", "task=none",
         SMALL);
    assert_refused(2, "train", "brightness");
}

int main(void)
{
#define TEST_OF(f) cmocka_unit_test_setup_teardown(f, begin, folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST_OF(trains_and_chooses_the_lowest_error), TEST_OF(is_evaluated_and_predicted),
        TEST_OF(is_drawn_reported_and_exported),      TEST_OF(is_resumed_to_the_bit),
        TEST_OF(refuses_data_that_it_cannot_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
