/* Tiny-ImageNet and CelebA in their published layouts, whole and damaged; the files are made
 * here. */
#include "data_helpers.h"

static void put_png(const char *name, int value)
{
    uint8_t pixels[4 * 6 * 3];
    memset(pixels, value, sizeof pixels);
    data_put_png(name, 4, 6, 3, pixels);
}

static void put_text(const char *name, const char *text) { data_put(name, text, strlen(text)); }

static void refused(const char *kind, dataset_split split, ssm2d_status status, const char *line)
{
    char where[128];
    snprintf(where, sizeof where, "%s:%s", kind, folder);
    assert_int_equal(try_data(where, split), status);
    assert_line(line);
}

/* ---- Tiny-ImageNet --------------------------------------------------------------------------- */

static const char rows[] = "val_2.JPEG\tn02\t0\t0\t62\t62\nval_0.JPEG\tn01\t1\t2\t3\t4\r\n"
                           "val_10.JPEG\tn02\t0\t0\t9\t9\n";

static void put_tiny(void)
{
    put_png("train/n02/images/n02_0.JPEG", 20);
    put_png("train/n02/images/n02_1.JPEG", 21);
    put_png("train/n01/images/n01_0.JPEG", 10);
    put_text("train/n01/n01_boxes.txt", "n01_0.JPEG\t0\t0\t1\t1\n");
    put_png("val/images/val_0.JPEG", 100);
    put_png("val/images/val_2.JPEG", 102);
    put_png("val/images/val_10.JPEG", 110);
    put_text("val/val_annotations.txt", rows);
    put_text("wnids.txt", "n02\nn01\n");
}

static void reads_tiny_imagenet(void **state)
{
    (void)state;
    static const int labels[] = {0, 1, 1}, values[] = {10, 20, 21};
    static const int test_labels[] = {0, 1, 1}, test_values[] = {100, 110, 102}; /* by name */
    put_tiny();
    for (int split = 0; split < 2; split++) {
        dataset *d = open_data(folder, split ? DATASET_TEST : DATASET_TRAIN);
        const dataset_info *info = dataset_about(d);
        assert_int_equal(info->count, 3);
        assert_int_equal(info->label_count, 2);
        assert_string_equal(info->label_names[0], "n01");
        assert_int_equal(info->rows, 64);
        assert_true(info->names && info->ignored == 0);
        assert_true(info->norm.mean[0] > .4801f && info->norm.mean[0] < .4803f);
        for (size_t i = 0; i < 3; i++) {
            uint8_t out[12];
            assert_int_equal(dataset_label(d, i), split ? test_labels[i] : labels[i]);
            assert_int_equal(fetch_as(d, i, 2, 2, 3, out), SSM2D_OK);
            assert_int_equal(out[0], split ? test_values[i] : values[i]);
        }
        dataset_close(d);
    }
}

/* Readable names come from words.txt; the WNIDs still identify the classes. */
static void names_tiny_imagenet(void **state)
{
    (void)state;
    put_tiny();
    put_png("train/n00/images/n00_0.JPEG", 30);
    put_png("train/n03/images/n03_0.JPEG", 31);
    put_text("words.txt", "n01\tcaf\xe9\n"); /* not UTF-8 */
    dataset *d = open_data(folder, DATASET_TRAIN);
    assert_string_equal(dataset_about(d)->label_names[1], "caf?");
    assert_string_equal(dataset_about(d)->label_ids[1], "n01");
    dataset_close(d);
    put_text("words.txt",
             "n99\tplant, flora\nn02\tcrane\r\nn00\tcrane, Grus\nn01\tbull frog\tmore\n"
             "\nn03\t\nn03");
    d = open_data(folder, DATASET_TRAIN);
    const dataset_info *info = dataset_about(d);
    static const char *const names[] = {"crane (n00)", "bull frog", "crane (n02)", "n03"};
    static const char *const ids[] = {"n00", "n01", "n02", "n03"};
    char path[256];
    assert_int_equal(info->label_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(info->label_names[i], names[i]);
        assert_string_equal(info->label_ids[i], ids[i]);
    }
    assert_true(dataset_file(d, 1, path, sizeof path) && strstr(path, "train/n01/images/n01_0"));
    dataset_close(d);
    d = open_data(folder, DATASET_TEST);
    assert_string_equal(dataset_about(d)->label_names[1], "bull frog");
    assert_int_equal(dataset_label(d, 0), 1);
    dataset_close(d);
    unlink(io_path("words.txt"));
    assert_int_equal(mkfifo(io_path("words.txt"), 0600), 0);
    refused("tiny-imagenet", DATASET_TRAIN, SSM2D_ERROR_ARGUMENT, "/words.txt: ");
}

static void refuses_bad_tiny_imagenet(void **state)
{
    (void)state;
    put_tiny();
    put_text("val/val_annotations.txt", "val_2.JPEG\tn02\t0\nval_0.JPEG\tn01\t0\n");
    refused("tiny-imagenet", DATASET_TEST, SSM2D_ERROR_ARGUMENT,
            "/val_annotations.txt: has no row for the image val_10.JPEG");
    put_text("val/val_annotations.txt", "val_0.JPEG\tn01\nval_10.JPEG\tn02\nval_2.JPEG\tn03\n");
    refused("tiny-imagenet", DATASET_TEST, SSM2D_ERROR_ARGUMENT,
            "line 3 has the class \"n03\", which is not in train");
    put_text("val/val_annotations.txt",
             "val_0.JPEG\tn01\nval_10.JPEG\tn02\nval_2.JPEG\tn02\nval_3.JPEG\tn02\n");
    refused("tiny-imagenet", DATASET_TEST, SSM2D_ERROR_ARGUMENT, "an extra row for val_3.JPEG");
    put_text("val/val_annotations.txt",
             "val_0.JPEG\tn01\nval_0.JPEG\tn01\nval_10.JPEG\tn02\nval_2.JPEG\tn02\n");
    refused("tiny-imagenet", DATASET_TEST, SSM2D_ERROR_ARGUMENT, "an extra row for val_0.JPEG");
    put_text("val/val_annotations.txt", "val_0.JPEG");
    refused("tiny-imagenet", DATASET_TEST, SSM2D_ERROR_ARGUMENT, "line 1 has the class \"\"");
    refused("tiny-imagenet", DATASET_VAL, SSM2D_ERROR_ARGUMENT, "has no validation split");
    unlink(io_path("train/n01/images/n01_0.JPEG"));
    refused("tiny-imagenet", DATASET_TRAIN, SSM2D_ERROR_ARGUMENT, "/n01/images: has no images");
    unlink(io_path("val/val_annotations.txt"));
    refused("tiny-imagenet", DATASET_TEST, SSM2D_ERROR_SYSTEM, "cannot be opened");
}

/* ---- CelebA ---------------------------------------------------------------------------------- */

enum { ATTRIBUTES = 40, FACES = 6 };

/* Which attributes face i has. */
static int has(size_t i, int a) { return (i * 7 + (size_t)a * 3) % 5 < 2; }

/* Writes the file with this number of rows; `declared` is the count in its header. */
static void put_attributes(const char *name, size_t faces, size_t declared)
{
    static char text[16384];
    size_t n = (size_t)sprintf(text, "%zu\n", declared);
    for (int a = 0; a < ATTRIBUTES; a++) n += (size_t)sprintf(text + n, "Attribute_%d ", a);
    n += (size_t)sprintf(text + n, "\n");
    for (size_t i = 0; i < faces; i++) {
        n += (size_t)sprintf(text + n, "%06zu.jpg", i + 1);
        for (int a = 0; a < ATTRIBUTES; a++)
            n += (size_t)sprintf(text + n, has(i, a) ? "  1" : " -1");
        n += (size_t)sprintf(text + n, "%s\n", i % 2 ? "\r" : " ");
    }
    data_put(name, text, n);
}

static const char partition[] = "000001.jpg 0\n000002.jpg 2\n000003.jpg 0\n000004.jpg 1\n"
                                "000005.jpg 0\n000006.jpg 2\n";

static void put_celeba(void)
{
    char name[64];
    for (size_t i = 0; i < FACES; i++) {
        snprintf(name, sizeof name, "img_align_celeba/%06zu.jpg", i + 1);
        put_png(name, 40 + (int)i);
    }
    put_attributes("list_attr_celeba.txt", FACES, FACES);
    put_text("list_eval_partition.txt", partition);
}

static void check_celeba(void)
{
    static const size_t faces[3][4] = {{3, 0, 2, 4}, {1, 3}, {2, 1, 5}}; /* a count first */
    uint64_t names[3];
    for (int split = 0; split < 3; split++) {
        dataset *d = open_data(folder, (dataset_split)split);
        const dataset_info *info = dataset_about(d);
        assert_int_equal(info->count, faces[split][0]);
        assert_int_equal(info->labels, LABEL_BINARY);
        assert_int_equal(info->label_count, ATTRIBUTES);
        assert_string_equal(info->label_names[39], "Attribute_39");
        names[split] = info->names;
        for (size_t i = 0; i < info->count; i++) {
            float target[ATTRIBUTES];
            uint8_t out[12];
            const size_t face = faces[split][i + 1];
            dataset_target(d, i, target);
            for (int a = 0; a < ATTRIBUTES; a++) assert_int_equal(target[a], has(face, a));
            assert_int_equal(fetch_as(d, i, 2, 2, 3, out), SSM2D_OK);
            assert_int_equal(out[0], 40 + face);
        }
        dataset_close(d);
    }
    assert_true(names[0] && names[0] != names[2]);
}

static void reads_celeba(void **state)
{
    (void)state;
    char from[512], to[512];
    put_celeba();
    check_celeba();
    /* in the folders in which it is published */
    static const char *const moves[][2] = {
        {"img_align_celeba", "Img/img_align_celeba"},
        {"list_attr_celeba.txt", "Anno/list_attr_celeba.txt"},
        {"list_eval_partition.txt", "Eval/list_eval_partition.txt"}};
    for (int i = 0; i < 3; i++) {
        snprintf(from, sizeof from, "%s/%s", folder, moves[i][0]);
        snprintf(to, sizeof to, "%s/%s", folder, moves[i][1]);
        *strrchr(to, '/') = 0;
        assert_int_equal(folder_make(to, &error), SSM2D_OK);
        to[strlen(to)] = '/';
        assert_int_equal(rename(from, to), 0);
    }
    check_celeba();
}

static void refuses_bad_celeba(void **state)
{
    (void)state;
    put_celeba();
    put_text("list_eval_partition.txt", "000001.jpg 0\n000002.jpg 2\n");
    refused("celeba", DATASET_TRAIN, SSM2D_ERROR_ARGUMENT,
            "/list_eval_partition.txt: has no row for 000003.jpg");
    put_text("list_eval_partition.txt", "000001.jpg 3\n");
    refused("celeba", DATASET_TRAIN, SSM2D_ERROR_ARGUMENT, "line 1 is not a name and 0, 1 or 2");
    put_text("list_eval_partition.txt", "000001.jpg\n");
    refused("celeba", DATASET_TRAIN, SSM2D_ERROR_ARGUMENT, "line 1 is not a name and 0, 1 or 2");
    put_text("list_eval_partition.txt", "000001.jpg 0\n000002.jpg 0\n000003.jpg 0\n"
                                        "000004.jpg 1\n000005.jpg 0\n000006.jpg 1\n");
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT,
            "/list_eval_partition.txt: has no test images: ");
    put_text("list_eval_partition.txt", partition);
    put_attributes("list_attr_celeba.txt", FACES, FACES + 1);
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT, "states 7 images but has 6 rows");
    put_text("list_attr_celeba.txt", "x\n");
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT,
            "line 1 is not a positive number of images");
    put_text("list_attr_celeba.txt", "-6\n");
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT,
            "line 1 is not a positive number of images");
    put_text("list_attr_celeba.txt", "");
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT, "is not a positive number of images");
    put_text("list_attr_celeba.txt", "1\na b c\n");
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT, "line 2 does not have the names of 40");
    size_t size;
    put_attributes("list_attr_celeba.txt", FACES, FACES);
    unsigned char *text = io_get(io_path("list_attr_celeba.txt"), &size);
    unsigned char *row = (unsigned char *)strstr((char *)text, "000004.jpg");
    row[11] = '2'; /* " -1" or "  1" begins behind the name */
    io_put("list_attr_celeba.txt", text, size);
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT,
            "line 6 has an attribute that is neither");
    io_put("list_attr_celeba.txt", text, (size_t)(row - text) - 20); /* in the row before */
    free(text);
    refused("celeba", DATASET_TEST, SSM2D_ERROR_ARGUMENT, "line 5 does not have 40 attributes");
    put_celeba();
    unlink(io_path("img_align_celeba/000002.jpg"));
    uint8_t out[12];
    dataset *d = open_data(folder, DATASET_TEST);
    assert_int_equal(fetch_as(d, 0, 2, 2, 3, out), SSM2D_ERROR_SYSTEM);
    assert_line("/img_align_celeba/000002.jpg: cannot be opened");
    dataset_close(d);
    unlink(io_path("list_eval_partition.txt"));
    refused("celeba", DATASET_TEST, SSM2D_ERROR_SYSTEM,
            "list_eval_partition.txt: cannot be opened");
}

/* ---- images of unusual shape ----------------------------------------------------------------- */

static void reads_long_images(void **state)
{
    (void)state;
    static uint8_t pixels[20000];
    uint8_t out[48];
    for (int turn = 0; turn < 2; turn++) {
        data_empty(folder);
        data_put_png("train/a/1.png", turn ? 1 : 20000, turn ? 20000 : 1, 1, pixels);
        data_put("train/a/2.png", "", 0);
        dataset *d = open_data(folder, DATASET_TRAIN);
        assert_int_equal(fetch_as(d, 0, 4, 4, 3, out), SSM2D_OK);
        assert_int_equal(fetch_as(d, 1, 4, 4, 3, out), SSM2D_ERROR_ARGUMENT);
        assert_line("/2.png: is empty");
        dataset_close(d);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const char *tried;

static ssm2d_status try_opening(void)
{
    char where[128];
    snprintf(where, sizeof where, "%s:%s", tried, folder);
    return try_data(where, DATASET_TEST);
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    put_tiny();
    tried = "tiny-imagenet";
    assert_true(io_fail_everywhere(try_opening) > 8);
    put_celeba();
    tried = "celeba";
    assert_true(io_fail_everywhere(try_opening) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_tiny_imagenet),          TEST(names_tiny_imagenet),
        TEST(refuses_bad_tiny_imagenet),    TEST(reads_celeba),
        TEST(refuses_bad_celeba),           TEST(reads_long_images),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_sets", tests, io_setup, data_end);
}
