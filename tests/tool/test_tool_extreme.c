/* Values that are not finite, or at the limits of float, in weights, inputs and images: each
 * command refuses them with one line, or its results are finite. */
#include "tool_run.h"

#include "../train/small_data.h"
#include "io/image.h"
#include "io/npy.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <sys/stat.h>

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 20) ? 0 : -1;
}

static void train(void)
{
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--batch", "8",
         "--epochs", "1", "--set", "dim=16", "--set", "depth=1", "--set", "heads=2", "--set",
         "mixer.d_state=3");
    assert_wrote("run/");
}

/* Sets every element of an array of floats in a safetensors file, with alternating signs. */
static void fill_array(const char *path, const char *name, float value)
{
    size_t size;
    char *bytes = get_file(path, &size);
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--) header = header << 8 | (unsigned char)bytes[i];
    cJSON *root = cJSON_ParseWithLength(bytes + 8, header);
    cJSON *offsets = cJSON_GetObjectItem(cJSON_GetObjectItem(root, name), "data_offsets");
    if (!offsets) fail_msg("%s: has no array %s", path, name);
    const size_t first = (size_t)cJSON_GetArrayItem(offsets, 0)->valuedouble,
                 end = (size_t)cJSON_GetArrayItem(offsets, 1)->valuedouble;
    for (size_t at = first; at < end; at += sizeof value) {
        const float number = (at - first) / sizeof value % 2 ? -value : value;
        memcpy(bytes + 8 + header + at, &number, sizeof number);
    }
    put_file(path, bytes, size);
    free(bytes);
    cJSON_Delete(root);
}

static void fill_images(const char *path, size_t batch, float value)
{
    ssm2d_context *context;
    ssm2d_error error;
    const size_t shape[] = {batch, 1, SMALL_SIDE, SMALL_SIDE}, count = batch * 64;
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = i % 2 ? -value : value;
    if (ssm2d_context_create(NULL, &context, &error)) fail_msg("%s", error.line);
    if (npy_write(context, path, NPY_FLOAT32, 4, shape, x, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
    free(x);
}

/* Either a refusal in one line, or success and only finite values in the output. */
static void assert_defined(const char *name)
{
    if (tool.code) {
        assert_refused(1, name, "");
        return;
    }
    assert_done();
    /* whole words: the name of the test's folder is random */
    for (const char *word = tool.out; *word; word++)
        if ((!strncmp(word, "nan", 3) || !strncmp(word, "inf", 3))
            && !isalnum((unsigned char)word[3])
            && (word == tool.out || !isalnum((unsigned char)word[-1])))
            fail_msg("%s printed \"%s\"", name, tool.out);
}

/* The probabilities that predict printed sum to 100 %. */
static void assert_probabilities(void)
{
    double sum = 0, percent;
    for (const char *at = strchr(tool.out, '%'); at; at = strchr(at + 1, '%')) {
        while (at[-1] == ' ') at--;
        while (strchr("0123456789.", at[-1])) at--;
        assert_int_equal(sscanf(at, "%lf", &percent), 1);
        sum += percent;
        at = strchr(at, '%');
    }
    assert_true(fabs(sum - 100) < 0.3);
}

/* `ssm2d run` on the run's weights. */
#define RUN(...)                                                                                   \
    TOOL("run", "--config", in_folder("run/config.json"), "--weights",                             \
         in_folder("run/model.safetensors"), "--input", in_folder("x.npy"), "--out",               \
         in_folder("y.npy"), __VA_ARGS__)

/* Finite weights of a head whose logits are not finite. */
static void test_overflowing_logits_are_reported(void **state)
{
    (void)state;
    size_t size;
    const int64_t labels[] = {1, 2};
    ssm2d_context *context;
    ssm2d_error error;
    train();
    put_picture(in_folder("one.png"), 8, 8, 1);
    put_picture(in_folder("two.png"), 8, 8, 1);
    fill_images(in_folder("x.npy"), 2, 1);
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    assert_int_equal(
        npy_write(context, in_folder("labels.npy"), NPY_INT64, 1, (size_t[]){2}, labels, &error),
        SSM2D_OK);
    ssm2d_context_destroy(context);
    fill_array(in_folder("run/model.safetensors"), "head.weight", 3e38f);
    TOOL("predict", in_folder("run"), "--weights", "last", in_folder("one.png"));
    assert_refused(1, "predict", "one.png");
    assert_string_equal(tool.out, "");
    TOOL("predict", in_folder("run"), "--weights", "last", in_folder("one.png"), "--json", "--top",
         "4");
    assert_refused(1, "predict", "one.png");
    TOOL("predict", in_folder("run"), "--weights", "last", in_folder("one.png"),
         in_folder("two.png"));
    assert_int_equal(tool.code, 1);
    assert_non_null(strstr(tool.err, "two.png: the output of the model for class "));
    assert_non_null(strstr(tool.err, "no prediction for 2 of 2 images"));
    TOOL("eval", in_folder("run"));
    assert_refused(1, "eval", "not finite");
    RUN("--threads", "1");
    assert_refused(1, "run", "model.safetensors", "0");
    assert_int_equal(count_files(in_folder("y.npy")), 0);
    RUN("--labels", in_folder("labels.npy"), "--grads", in_folder("g.safetensors"));
    assert_refused(1, "run", "model.safetensors", "0");
    assert_string_equal(tool.out, "");
    assert_int_equal(count_files(in_folder("y.npy")), 0);
    assert_int_equal(count_files(in_folder("g.safetensors")), 0);
    RUN("--allow-nonfinite");
    assert_done();
    free(get_file(in_folder("y.npy"), &size));
    RUN("--allow-nonfinite", "--labels", in_folder("labels.npy"), "--grads",
        in_folder("g.safetensors"));
    assert_done();
    free(get_file(in_folder("g.safetensors"), &size));
}

/* Every kind of extreme value in each of some arrays, and in the images, through every command that
 * uses them. */
static void test_extreme_weights_never_give_undefined_output(void **state)
{
    (void)state;
    static const char *const arrays[] = {"head.weight", "head.bias", "blocks.0.mixer.A",
                                         "blocks.0.mixer.B", "blocks.0.norm1.weight"};
    static const float extremes[] = {NAN, INFINITY, 3e38f, 1e30f, 1e-40f, 1e-45f, 0};
    train();
    put_picture(in_folder("one.png"), 8, 8, 1);
    copy_folder(in_folder("run"), in_folder("good"));
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
        for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
            size_t size;
            if (short_tests() && (i + k) % 3) continue;
            char *good = get_file(in_folder("good/model.safetensors"), &size);
            put_file(in_folder("run/model.safetensors"), good, size);
            free(good);
            fill_images(in_folder("x.npy"), 1, 1);
            fill_array(in_folder("run/model.safetensors"), arrays[k], extremes[i]);
            TOOL("predict", in_folder("run"), "--weights", "last", in_folder("one.png"), "--top",
                 "4");
            assert_defined("predict");
            if (!tool.code) assert_probabilities();
            if (!isfinite(extremes[i])) assert_refused(1, "predict", arrays[k]);
            TOOL("eval", in_folder("run"));
            assert_defined("eval");
            RUN("--threads", "1");
            assert_defined("run");
            TOOL("kernels", in_folder("run"), "-o", in_folder("k.svg"));
            assert_defined("kernels");
            TOOL("kernels", in_folder("run"), "-o", in_folder("k.svg"), "--receptive-field",
                 in_folder("one.png"));
            assert_defined("kernels");
        }
        fill_images(in_folder("x.npy"), 1, extremes[i]);
        TOOL("run", "--config", in_folder("good/config.json"), "--weights",
             in_folder("good/model.safetensors"), "--input", in_folder("x.npy"), "--out",
             in_folder("y.npy"));
        assert_defined("run");
        if (!isfinite(extremes[i])) assert_refused(1, "run", "x.npy");
    }
}

/* The layer alone: every extreme value in every array that it reads, in both precisions. */
static void test_layer_with_extreme_arrays_is_defined(void **state)
{
    (void)state;
    static const char *const arrays[] = {"A", "B", "C", "omega", "u", "dy"};
    static const double extremes[] = {NAN, INFINITY, 1e300, 3e38, 1e-40, 5e-324, 0};
    static const char *const types[] = {"float", "double"};
    ssm2d_context *context;
    ssm2d_error error;
    int cases = 0;
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
            npy_array array;
            char folder[512], path[600], words[64];
            snprintf(folder, sizeof folder, "%s", in_folder("case%d", cases++));
            copy_folder(GOLDEN "/05_real_5x3_d2_half", folder);
            snprintf(path, sizeof path, "%s/%s.npy", folder, arrays[k]);
            if (npy_read(context, path, &array, &error)) fail_msg("%s", error.line);
            double *x = malloc(array.count * sizeof *x);
            for (size_t n = 0; n < array.count; n++) x[n] = n % 2 ? -extremes[i] : extremes[i];
            if (npy_write(context, path, NPY_FLOAT64, array.rank, array.shape, x, &error))
                fail_msg("%s", error.line);
            free(x);
            npy_free(context, &array);
            for (int t = 0; t < 2; t++) {
                TOOL("layer", folder, "--out", in_folder("out%d.%d", cases, t), "--precision",
                     types[t]);
                assert_defined("layer");
                if (!isfinite(extremes[i])) {
                    snprintf(words, sizeof words, "%s[0]", k == 3 ? "D" : arrays[k]);
                    assert_refused(1, "layer", words);
                }
            }
            if (k < 4 || isfinite(extremes[i])) continue;
            TOOL("layer", folder, "--out", in_folder("all%d", cases), "--allow-nonfinite");
            assert_done();
        }
    ssm2d_context_destroy(context);
}

/* A grey picture of 16 bits of one value, or of extremes beside each other. */
static void put_grey(const char *path, int value)
{
    enum { SIDE = 12 };
    const image_info info = {SIDE, SIDE, 1, 16};
    image_writer *writer;
    ssm2d_context *context;
    ssm2d_error error;
    uint16_t row[SIDE];
    for (int i = 0; i < SIDE; i++) row[i] = (uint16_t)(value < 0 ? 65535 * (i % 2) : value);
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    if (image_create(context, path, &info, NULL, &writer, &error)) fail_msg("%s", error.line);
    for (int i = 0; i < SIDE; i++)
        if (image_write_row(writer, row, &error)) fail_msg("%s", error.line);
    if (image_finish(writer, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
}

/* Trained weights of every kind over black, white and both: a picture, whose samples are clamped,
 * or a refusal that keeps the existing picture. */
static void test_filter_with_extreme_weights_clamps_or_refuses(void **state)
{
    (void)state;
    static const char *const arrays[] = {"A", "B", "C", "D"};
    static const float extremes[] = {NAN, INFINITY, 3e38f, 1e30f, 1e-40f, 0};
    static const int greys[] = {0, 65535, -1};
    int refused = 0, done = 0;
    train();
    copy_folder(in_folder("run"), in_folder("good"));
    for (size_t g = 0; g < 3; g++) {
        put_grey(in_folder("in.png"), greys[g]);
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png")); /* brightness is kept */
        assert_done();
        for (size_t k = 0; k < 4; k++)
            for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
                size_t size;
                char *good = get_file(in_folder("good/model.safetensors"), &size), name[40];
                put_file(in_folder("run/model.safetensors"), good, size);
                free(good);
                snprintf(name, sizeof name, "blocks.0.mixer.%s", arrays[k]);
                fill_array(in_folder("run/model.safetensors"), name, extremes[i]);
                put_text(in_folder("a.png"), "precious");
                TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--run",
                     in_folder("run"));
                assert_defined("filter");
                if (!isfinite(extremes[i])) assert_refused(1, "filter", name);
                char *found = get_file(in_folder("a.png"), &size);
                assert_int_equal(!strcmp(found, "precious"), tool.code);
                free(found);
                tool.code ? refused++ : done++;
            }
    }
    assert_true(done > 3 * 4 * 2 && refused >= 3 * 4 * 2);
}

/* Initial weights that are too large end the training, and the message says why. */
static void test_overflowing_start_weights_end_training(void **state)
{
    (void)state;
    train();
    fill_array(in_folder("run/model.safetensors"), "head.weight", 3e38f);
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("next"), "--config",
         in_folder("run/train.json"), "--start", in_folder("run/model.safetensors"));
    assert_ended(1, "train", "not finite");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_overflowing_logits_are_reported, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_extreme_weights_never_give_undefined_output, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_layer_with_extreme_arrays_is_defined, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_filter_with_extreme_weights_clamps_or_refuses, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_overflowing_start_weights_end_training, setup,
                                        folder_teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
