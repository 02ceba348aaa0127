/* ssm2d train, eval, predict and kernels RUN: a small run from beginning to end, interrupted,
 * resumed, and used. */
#include "tool_run.h"

#include "../train/small_data.h"
#include "io/image.h"
#include "ssm2d.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL                                                                                      \
    "--batch", "8", "--epochs", "3", "--set", "dim=16", "--set", "depth=2", "--set", "heads=2",    \
        "--set", "mixer.d_state=3", "--set", "crop_padding=0", "--lr", "0.005"

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 20) ? 0 : -1;
}

static void train(const char *run)
{
    TOOL("train", "--data", in_folder("data"), "--out", run, SMALL);
    assert_done();
}

static void test_train_writes_a_run_that_resumes(void **state)
{
    (void)state;
    static const char *const files[] = {"train.json",       "config.json",       "data.json",
                                        "last.safetensors", "model.safetensors", "best.safetensors",
                                        "metrics.jsonl",    "curves.svg",        "machines.json"};
    train(in_folder("run"));
    assert_non_null(strstr(tool.out, "vit-mini, mixer ssm2d ("));
    assert_non_null(strstr(tool.out, "images 8 x 8 x 1, 80 to train on, 20 to test"));
    assert_non_null(strstr(tool.out, "epoch 3/3: loss "));
    assert_non_null(strstr(tool.out, "test accuracy "));
    assert_int_equal(count_files(in_folder("run")), 9);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_int_equal(access(in_folder("run/%s", files[i]), F_OK), 0);
    /* on other numbers of threads, and from the file of settings */
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("four"), SMALL, "--threads", "4");
    assert_wrote("four/");
    assert_same_file(in_folder("run/model.safetensors"), in_folder("four/model.safetensors"));
    TOOL("train", "--config", in_folder("run/train.json"), "--out", in_folder("file"), "--threads",
         "1");
    assert_wrote("file/");
    assert_same_file(in_folder("run/model.safetensors"), in_folder("file/model.safetensors"));
    assert_same_file(in_folder("run/train.json"), in_folder("file/train.json"));
    /* the run's own model and weights are what `run` takes */
    TOOL("run", "--config", in_folder("run/config.json"), "--weights",
         in_folder("run/model.safetensors"), "--input", "none.npy", "--out", in_folder("o.npy"));
    assert_refused(1, "run", "none.npy");
}

/* One line of --print-settings. */
static void assert_setting(const char *setting, const char *from)
{
    char line[160];
    snprintf(line, sizeof line, "%s ", setting);
    const char *at = strstr(tool.out, line);
    if (!at) fail_msg("no line %s", setting);
    at += strspn(at + strlen(setting), " ") + strlen(setting);
    if (strncmp(at, from, strlen(from)) || at[strlen(from)] != '\n')
        fail_msg("%s is from %.20s", setting, at);
}

static void test_recipes_set_and_print_settings(void **state)
{
    (void)state;
    put_text(in_folder("c.json"), "{\"lr\": 0.003, \"mixer\": {\"directions\": 2}, \"seed\": 4}");
    TOOL("train", "--recipe", "small", "--data", in_folder("data"), "--model", "vit",
         "--print-settings", "--config", in_folder("c.json"), "--epochs", "3", "--set",
         "flip=false", "--seed", "5");
    assert_wrote_nothing();
    assert_setting("epochs=3", "command line");
    assert_setting("seed=5", "command line");
    assert_setting("flip=false", "command line");
    assert_setting("model=vit", "command line");
    assert_setting("lr=0.003", "--config");
    assert_setting("mixer.directions=2", "--config");
    assert_setting("autoaugment=cifar", "recipe small");
    assert_setting("drop_path=0.2", "recipe small");
    assert_setting("clip=0", "default");
    assert_setting("depth=9", "model vit");
    assert_setting("classes=-", "the data");
    /* a pipe is read once */
    shell_run("cat $FOLDER/c.json | $SSM2D train --recipe small --data $FOLDER/data --model vit "
              "--print-settings --config /dev/stdin");
    assert_done();
    assert_setting("lr=0.003", "--config");
    TOOL("train", "--data", in_folder("data"), "--norm-mean", "0.3", "--print-settings");
    assert_refused(2, "train", "norm_mean=0.3", "norm_std");
    TOOL("train", "--recipe", "small", "--mixer", "none", "--print-settings");
    assert_wrote_nothing();
    assert_setting("drop_path=0.1", "recipe small");
    assert_setting("mixer=none", "command line");
    /* the model in the file counts as well */
    put_text(in_folder("m.json"), "{\"model\": \"deit-t\", \"mixer\": null}");
    TOOL("train", "--recipe", "small", "--config", in_folder("m.json"), "--print-settings");
    assert_wrote_nothing();
    assert_setting("model=deit-t", "--config");
    assert_setting("drop_path=0.1", "recipe small");
    TOOL("train", "--recipe", "deit", "--batch", "256", "--print-settings");
    assert_wrote_nothing();
    assert_setting("lr_batch=512", "recipe deit");
    assert_setting("batch=256", "command line");
    TOOL("train", "--recipe", "smal", "--print-settings");
    assert_refused(2, "train", "smal", "small");
    TOOL("train", "--recipe", "small", "--resume", in_folder("run"));
    assert_refused(2, "train", "--recipe", "--resume");

    /* a run with a recipe keeps the values, and may be resumed with more workers */
    TOOL("train", "--recipe", "small", "--data", in_folder("data"), "--out", in_folder("run"),
         SMALL, "--epochs", "1");
    assert_wrote("run/");
    assert_non_null(strstr(tool.out, "waiting "));
    size_t size;
    char *text = get_file(in_folder("run/train.json"), &size);
    assert_non_null(strstr(text, "\"repeats\":\t3"));
    assert_non_null(strstr(text, "\"autoaugment\":\t\"cifar\""));
    free(text);
    text = get_file(in_folder("run/metrics.jsonl"), &size);
    assert_non_null(strstr(text, "\"wait\": "));
    free(text);
    TOOL("train", "--resume", in_folder("run"), "--epochs", "2", "--workers", "2");
    assert_done();
    TOOL("train", "--recipe", "small", "--data", in_folder("data"), "--out", in_folder("whole"),
         SMALL, "--epochs", "2", "--workers", "3");
    assert_wrote("whole/");
    TOOL("eval", in_folder("run"));
    assert_wrote_nothing();
}

static void test_folders_with_other_files_are_not_touched(void **state)
{
    (void)state;
    train(in_folder("run"));
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), SMALL);
    assert_refused(1, "train", "run");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), SMALL, "--overwrite",
         "--mixer", "none");
    assert_refused(2, "train", "mixer"); /* mixer.d_state needs a mixer */
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--overwrite", "--mixer",
         "none", "--set", "dim=16", "--batch", "8", "--epochs", "1");
    assert_wrote("run/");
    assert_non_null(strstr(tool.out, "mixer none"));
    TOOL("kernels", in_folder("run"), "-o", in_folder("k.png"));
    assert_refused(1, "kernels", "run");
    TOOL("train", "--resume", in_folder("run"));
    assert_done();
    assert_non_null(strstr(tool.out, "the run is complete"));
    /* longer, and with data that were moved */
    assert_int_equal(rename(in_folder("data"), in_folder("moved")), 0);
    TOOL("train", "--resume", in_folder("run"), "--epochs", "2");
    assert_refused(1, "train", "data");
    TOOL("train", "--resume", in_folder("run"), "--epochs", "2", "--data", in_folder("moved"));
    assert_done();
    assert_non_null(strstr(tool.out, "epoch 2/2"));
    TOOL("train", "--resume", in_folder("run"), "--epochs", "1");
    assert_refused(1, "train", "epochs=1", "2");
    size_t size;
    char *text = get_file(in_folder("run/train.json"), &size);
    assert_non_null(strstr(text, "moved"));
    put_text(in_folder("run/train.json"), "{\"epochs\": 9}");
    TOOL("train", "--resume", in_folder("run"));
    assert_done();
    assert_non_null(strstr(tool.out, "train.json was changed"));
    char *again = get_file(in_folder("run/train.json"), &size);
    assert_string_equal(text, again);
    free(text);
    free(again);
    assert_int_equal(rename(in_folder("moved"), in_folder("data")), 0);
    /* an error in the new run keeps the old one; a new run may start from the old one's weights */
    TOOL("train", "--data", in_folder("none"), "--out", in_folder("run"), SMALL, "--overwrite");
    assert_refused(1, "train", "none");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--set", "dim=24",
         "--batch", "8", "--overwrite", "--start", in_folder("run/model.safetensors"));
    assert_refused(1, "train", "model.safetensors");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--set", "dim=16",
         "--batch", "8", "--overwrite", "--start", in_folder("run/last.safetensors"));
    assert_refused(1, "train", "last.safetensors");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--set", "dim=16",
         "--batch", "8", "--overwrite", "--epochs", "1", "--start",
         in_folder("run/model.safetensors"));
    assert_wrote("run/");
    assert_non_null(strstr(tool.out, "new arrays of mixers"));
    TOOL("train", "--resume", in_folder("data"));
    assert_refused(1, "train", "data");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("data/t10k-images-idx3-ubyte"),
         SMALL);
    assert_refused(1, "train", "t10k-images-idx3-ubyte");
}

/* A refused `ssm2d train`. */
#define REFUSED(code, named, ...)                                                                  \
    do {                                                                                           \
        TOOL("train", __VA_ARGS__);                                                                \
        assert_refused(code, "train", named);                                                      \
    } while (0)

static void test_wrong_options_are_refused_in_one_line(void **state)
{
    (void)state;
    char x[512];
    snprintf(x, sizeof x, "%s", in_folder("x"));
    REFUSED(2, "--overwrite", "--overwrite");
    REFUSED(2, "--lr", "--resume", "x", "--lr", "1");
    REFUSED(2, "--out", "--resume", "x", "--out", "y");
    REFUSED(2, "--val-fraction", "--resume", in_folder("run"), "--val-fraction", "0.1");
    REFUSED(2, "--lr=fast", "--out", x, "--lr", "fast");
    REFUSED(2, "--epochs=0", "--out", x, "--epochs=0");
    REFUSED(2, "--set lr", "--out", x, "--set", "lr");
    REFUSED(2, "smoothing", "--out", x, "--set", "smothing=0.1");
    REFUSED(2, "\"mixer.directions\"", "--out", x, "--set", "mixer.direction=2");
    REFUSED(2, "directions", "--out", x, "--set", "mixer.directions=3");
    REFUSED(2, "\"vit-mini\"", "--out", x, "--model", "vit-mni");
    REFUSED(2, "ssm2d", "--out", x, "--mixer", "ssm3d");
    REFUSED(2, "--learning-rate", "--out", x, "--learning-rate", "1");
    /* the model's name is checked before the data */
    REFUSED(2, "\"vit-mini\"", "--out", x, "--data", in_folder("nothing"), "--set", "depth=2",
            "--set", "model=vit-mni");
}

static void test_wrong_files_are_refused_in_one_line(void **state)
{
    (void)state;
    char x[512], data[512], config[512];
    snprintf(x, sizeof x, "%s", in_folder("x"));
    snprintf(data, sizeof data, "%s", in_folder("data"));
    snprintf(config, sizeof config, "%s", in_folder("c.json"));
    REFUSED(1, "fashion-mnist", "--out", x, "--data", "fashion-mnits");
    REFUSED(1, "nothing", "--out", x, "--data", in_folder("nothing"));
    REFUSED(1, "nothing.json", "--out", x, "--config", in_folder("nothing.json"));
    put_text(config, "{\"epoch\": 3}");
    REFUSED(1, "\"epochs\"", "--out", x, "--config", config);
    REFUSED(1, "batch=100", "--out", x, "--data", data, "--batch", "100");
    REFUSED(1, "heads", "--out", x, "--data", data, "--set", "heads=5");
    TOOL("train", "--out", x, "--data", data, SMALL, "--lr", "900", "--clip", "0", "--schedule",
         "constant", "--warmup", "0", "--decay", "100");
    assert_ended(1, "train", "not finite");
}

static void test_start_needs_data(void **state)
{
    (void)state;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("short"), SMALL, "--epochs", "1");
    assert_wrote("short/");
    REFUSED(2, "--data", "--start", in_folder("short/model.safetensors"), "--out", in_folder("x"),
            SMALL);
}

static void test_longer_run_says_that_epochs_changed(void **state)
{
    (void)state;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("short"), SMALL, "--epochs", "1");
    assert_wrote("short/");
    TOOL("train", "--resume", in_folder("short"), "--epochs", "2", "--bad-images", "skip");
    assert_done();
    assert_non_null(strstr(tool.out, "the run had 1 epochs and now has 2"));
}

static void test_set_overrides_config(void **state)
{
    (void)state;
    size_t size;
    put_text(in_folder("c.json"), "{\"model\": \"vit\", \"dim\": 16, \"heads\": 2, \"depth\": 1, "
                                  "\"mixer\": {\"kind\": \"ssm2d\", \"d_state\": 3}}");
    TOOL("train", "--out", in_folder("z"), "--data", in_folder("data"), "--config",
         in_folder("c.json"), "--batch", "8", "--epochs", "1", "--set", "depth=2", "--set",
         "model=vit-mini");
    assert_wrote("z/");
    char *settings = get_file(in_folder("z/config.json"), &size);
    assert_non_null(strstr(settings, "vit-mini"));
    assert_non_null(strstr(settings, "\"dim\":\t16"));
    assert_non_null(strstr(settings, "\"depth\":\t2"));
    assert_non_null(strstr(settings, "\"d_state\":\t3"));
    free(settings);
}

/* SIGINT: the step is finished and saved, and a message says how to continue; the end is as if
 * nothing had happened. */
static void test_signal_stops_with_a_checkpoint(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGUSR1};
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("whole"), SMALL, "--epochs",
         "40");
    assert_wrote("whole/");
    for (int i = 0; i < 3; i++) {
        char run[512], data[512];
        snprintf(run, sizeof run, "%s", in_folder("run%d", i));
        snprintf(data, sizeof data, "%s", in_folder("data"));
        FILE *err = tmpfile();
        int status;
        pid_t child = fork();
        if (child == 0) {
            dup2(fileno(err), STDERR_FILENO);
            if (!freopen("/dev/null", "w", stdout)) _exit(126);
            execl(TOOL_PATH, "ssm2d", "train", "--data", data, "--out", run, SMALL, "--epochs",
                  "40", (char *)NULL);
            _exit(127);
        }
        for (int wait = 0; wait < 60000 && access(in_folder("run%d/model.safetensors", i), F_OK);
             wait++)
            usleep(1000);
        kill(child, signals[i]);
        usleep(1000);
        kill(child, signals[i]); /* as timeout(1) does: the same request */
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        char line[512] = "";
        rewind(err);
        if (WEXITSTATUS(status)) { /* otherwise the run was faster than the signal */
            assert_int_equal(WEXITSTATUS(status), 128 + signals[i]);
            assert_non_null(fgets(line, sizeof line, err));
            if (!strstr(line, "stopped by a signal; step ") || !strstr(line, "--resume"))
                fail_msg("%s", line);
            TOOL("train", "--resume", run);
            assert_done();
            assert_non_null(strstr(tool.out, "resuming after step "));
        }
        fclose(err);
        assert_same_file(in_folder("whole/model.safetensors"),
                         in_folder("run%d/model.safetensors", i));
    }
}

static double accuracy_of(const char *json)
{
    cJSON *root = cJSON_Parse(json);
    assert_non_null(root);
    double value = cJSON_GetObjectItem(root, "accuracy")->valuedouble;
    cJSON_Delete(root);
    return value;
}

static void test_eval_measures_a_run(void **state)
{
    (void)state;
    train(in_folder("run"));
    char *said = strstr(tool.out, "test accuracy ");
    double told = strtod(said + 14, NULL) / 100;
    TOOL("eval", in_folder("run"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "20 test images of 8 x 8: loss "));
    TOOL("eval", in_folder("run"), "--json");
    assert_wrote_nothing();
    assert_true(accuracy_of(tool.out) > told - 1e-3 && accuracy_of(tool.out) < told + 1e-3);
    assert_null(strstr(tool.out, "top5")); /* of four classes */
    /* for any batch size, including a partial last batch */
    for (int batch = 1; batch <= 20; batch += 6) {
        char text[16];
        snprintf(text, sizeof text, "%d", batch);
        TOOL("eval", in_folder("run"), "--json", "--batch", text);
        assert_wrote_nothing();
        assert_true(accuracy_of(tool.out) > told - 1e-3 && accuracy_of(tool.out) < told + 1e-3);
    }
    TOOL("eval", in_folder("run"), "--split", "train", "--weights", "best");
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "80 train images"));
    TOOL("eval", in_folder("run"), "--image-size", "16");
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "of 16 x 16"));
    assert_non_null(strstr(tool.out, "interpolated"));
    TOOL("eval", in_folder("run"), "--image-size", "10");
    assert_refused(1, "eval", "10");
    TOOL("eval", in_folder("run"), "--data", in_folder("no"));
    assert_refused(1, "eval", "no");
    TOOL("eval", in_folder("data"));
    assert_refused(1, "eval", "data");
    TOOL("eval");
    assert_refused(2, "eval", "RUN");
    assert_int_equal(remove(in_folder("run/best.safetensors")), 0);
    TOOL("eval", in_folder("run"), "--weights", "best");
    assert_refused(1, "eval", "best.safetensors");
    assert_int_equal(truncate(in_folder("run/model.safetensors"), 5000), 0);
    TOOL("eval", in_folder("run"));
    assert_refused(1, "eval", "model.safetensors");
    put_text(in_folder("run/data.json"), "{\"classes\": [1]}");
    TOOL("eval", in_folder("run"));
    assert_refused(1, "eval", "data.json", "\"classes\"");
}

/* A picture like those of a class. */
static void put_class(const char *path, int label, int side)
{
    image_info info = {(size_t)side, (size_t)side, 1};
    image_writer *writer;
    ssm2d_context *context;
    ssm2d_error error;
    uint8_t row[256];
    assert_int_equal(
        ssm2d_context_create(
            &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = 1}, &context,
            &error),
        SSM2D_OK);
    if (image_create(context, path, &info, NULL, &writer, &error)) fail_msg("%s", error.line);
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++)
            row[x] = (2 * y / side == label / 2 && 2 * x / side == label % 2) ? 185 : 65;
        assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    }
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
}

static void test_predict_prints_classes(void **state)
{
    (void)state;
    char files[4][512];
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), SMALL, "--epochs", "30",
         "--set", "flip=false");
    assert_wrote("run/");
    assert_int_equal(rename(in_folder("data"), in_folder("gone")), 0); /* the data are not needed */
    for (int i = 0; i < 4; i++) {
        snprintf(files[i], sizeof files[i], "%s", in_folder("%d.png", i));
        put_class(files[i], i, i % 2 ? 8 : 64);
    }
    TOOL("predict", in_folder("run"), files[0], files[1], files[2], files[3], "--top", "1");
    assert_wrote_nothing();
    char head[600];
    snprintf(head, sizeof head, "weights of the best epoch of %s\n", in_folder("run"));
    assert_memory_equal(tool.out, head, strlen(head));
    const char *at = tool.out + strlen(head);
    for (int i = 0; i < 4; i++) { /* a line per image */
        char name[8];
        double percent;
        assert_memory_equal(at, files[i], strlen(files[i]));
        at += strlen(files[i]);
        assert_int_equal(sscanf(at, ": %7s %lf %%", name, &percent), 2);
        assert_int_equal(atoi(name), i);
        assert_true(percent > 50 && percent <= 100);
        at = strchr(at, '\n') + 1;
    }
    assert_string_equal(at, "");
    shell_run("cp \"$(ls $FOLDER/*.png | head -n 1)\" $FOLDER/$(printf 'a\\377b.png') && "
              "$SSM2D predict $FOLDER/run --json $FOLDER/$(printf 'a\\377b.png')");
    assert_done();
    assert_non_null(strstr(tool.out, "a?b.png")); /* JSON is UTF-8 */
    TOOL("predict", in_folder("run"), "--json", "--top", "9", files[2]);
    assert_wrote_nothing();
    cJSON *root = cJSON_Parse(tool.out), *item;
    assert_non_null(root);
    assert_string_equal(cJSON_GetObjectItem(root, "file")->valuestring, files[2]);
    double sum = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "classes")) sum +=
        cJSON_GetObjectItem(item, "probability")->valuedouble;
    assert_true(sum > 0.999999 && sum < 1.000001);
    cJSON_Delete(root);
    TOOL("predict", in_folder("run"), in_folder("run/train.json"));
    assert_refused(1, "predict", "train.json");
    TOOL("predict", in_folder("run"), in_folder("none.png"));
    assert_refused(1, "predict", "none.png");
    TOOL("predict", in_folder("run"));
    assert_refused(2, "predict", "IMAGE");
    TOOL("predict", in_folder("run"), files[0], "--max-pixels", "4095");
    assert_refused(1, "predict", "0.png", "64 x 64", "4095");
    TOOL("predict", in_folder("run"), files[0], "--max-pixels=4096");
    assert_wrote_nothing();
    TOOL("predict", in_folder("run"), files[1], "--image-size", "16");
    assert_wrote_nothing();
    TOOL("predict", in_folder("run"), files[1], "--image-size", "8x16");
    assert_wrote_nothing();
    TOOL("predict", in_folder("run"), files[1], "--image-size", "8x");
    assert_refused(2, "predict", "--image-size=8x");
    TOOL("predict", in_folder("run"), files[0], in_folder("none.png"), files[1], "--top", "1");
    assert_int_equal(tool.code, 1);
    assert_non_null(strstr(tool.out, files[0]));
    assert_non_null(strstr(tool.out, files[1]));
    assert_non_null(strstr(tool.err, "none.png"));
    assert_non_null(strstr(tool.err, "no prediction for 1 of 3 images"));
}

static void test_kernels_of_a_run_are_drawn(void **state)
{
    (void)state;
    train(in_folder("run"));
    TOOL("kernels", in_folder("run"), "-o", in_folder("k.svg"));
    assert_wrote("k.svg");
    size_t size;
    char *text = get_file(in_folder("k.svg"), &size);
    assert_true(size > 1000);
    free(text);
    TOOL("kernels", in_folder("run"), "-o", in_folder("k.png"), "--rows", "5", "--cols", "9",
         "--channels", "3", "--scale", "shared", "--weights", "best");
    assert_wrote("k.png");
    TOOL("kernels", in_folder("run"), "-o", in_folder("k.png"), "--figure2");
    assert_refused(2, "kernels", "--figure2");
    TOOL("kernels", in_folder("run"), "-o", in_folder("k.png"), "--seed", "1");
    assert_refused(2, "kernels", "--seed");
    TOOL("kernels", in_folder("data"), "-o", in_folder("k.png"));
    assert_refused(1, "kernels", "data");
}

#define FIELDS(...) TOOL("kernels", "-o", in_folder("f.png"), "--receptive-field", __VA_ARGS__)

/* Receptive fields of a plain run beside one with the mixer, on its test images and others. */
static void test_receptive_fields_of_runs_are_drawn(void **state)
{
    (void)state;
    train(in_folder("run"));
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("plain"), "--mixer", "none",
         "--set", "dim=16", "--batch", "8", "--epochs", "1");
    assert_wrote("plain/");
    FIELDS("test", "--images", "5", in_folder("plain"), in_folder("run"));
    assert_done();
    assert_non_null(strstr(tool.out, "plain: vit-mini, none: half of "));
    assert_non_null(strstr(tool.out, " (quartiles "));
    assert_non_null(strstr(tool.out, "; medians over 5 images\n"));
    assert_non_null(strstr(tool.out, "run: vit-mini, ssm2d ("));
    free(get_file(in_folder("f.png"), &(size_t){0}));
    shell_run("cd $FOLDER && touch test && "
              "$SSM2D kernels run -o f.png --receptive-field test --images 2");
    assert_done(); /* ./test is the file */
    FIELDS(in_folder("data"), in_folder("run"), "--block", "1");
    assert_done();
    put_picture(in_folder("one.png"), 9, 7, 3);
    FIELDS(in_folder("one.png"), in_folder("run"), "--weights", "best");
    assert_done();
    assert_null(strstr(tool.out, "quartiles"));
    FIELDS(in_folder("none.png"), in_folder("run"));
    assert_refused(1, "kernels", "none.png");
    FIELDS("test", in_folder("run"), "--block", "99");
    assert_refused(1, "kernels", "99");
    FIELDS("test");
    assert_refused(2, "kernels", "--receptive-field");
    FIELDS("test", in_folder("run"), "--rows", "9");
    assert_refused(2, "kernels", "--rows");
    FIELDS("test", in_folder("run"), "--scale", "shared");
    assert_refused(2, "kernels", "--scale");
    /* names of folders cannot control the terminal */
    shell_run("cp -r $FOLDER/plain \"$FOLDER/$(printf 'a\\033[31mb')\" && $SSM2D kernels "
              "--receptive-field test --images 2 -o $FOLDER/f.png $FOLDER/a*b");
    assert_int_equal(tool.code, 0);
    assert_null(strchr(tool.out, 27));
    /* data without test images: those held out, as in evaluation, and bad ones as in training */
    shell_run("cd $FOLDER && mkdir -p flat/a flat/b");
    for (int i = 0; i < 8; i++)
        put_picture(in_folder("flat/%c/%d.png", i % 2 ? 'a' : 'b', i), 8, 8, 3);
    for (int i = 0; i < 4; i++) put_text(in_folder("flat/%c/x%d.png", i % 2 ? 'a' : 'b', i), "bad");
    shell_run("cd $FOLDER && $SSM2D train --data flat --val-fraction 0.5 --bad-images skip "
              "--set image=8 --out held --mixer none --set dim=16 --batch 2 --epochs 1 && $SSM2D "
              "kernels held --receptive-field test -o f.png");
    assert_int_equal(tool.code, 0);
    assert_non_null(strstr(tool.out, "held: vit-mini, none: half of "));
    TOOL("kernels", "-o", in_folder("k.png"), in_folder("run"), in_folder("plain"));
    assert_refused(2, "kernels", "2");
    TOOL("kernels", "-o", in_folder("k.png"), in_folder("run"), "--images", "9");
    assert_refused(2, "kernels", "--images", "--receptive-field");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_train_writes_a_run_that_resumes, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_recipes_set_and_print_settings, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_folders_with_other_files_are_not_touched, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_options_are_refused_in_one_line, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_files_are_refused_in_one_line, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_start_needs_data, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_longer_run_says_that_epochs_changed, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_set_overrides_config, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_signal_stops_with_a_checkpoint, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_eval_measures_a_run, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_predict_prints_classes, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_kernels_of_a_run_are_drawn, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_receptive_fields_of_runs_are_drawn, setup,
                                        folder_teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
