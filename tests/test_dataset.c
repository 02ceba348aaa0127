/* Data sets of small images in a few files, idx and CIFAR: their metadata, and errors in them. */
#include "data_helpers.h"

#include <math.h>

/* ---- idx ------------------------------------------------------------------------------------- */

static const size_t train_sizes[] = {6, 3, 4}, test_sizes[] = {2, 3, 4};
static const uint8_t train_labels[] = {2, 0, 1, 4, 1, 3}, test_labels[] = {1, 0};
static uint8_t pixels[6 * 12];

static void put_idx(const char *suffix, int compressed)
{
    static const char *const names[] = {"train-images", "train-labels", "t10k-images",
                                        "t10k-labels"};
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 5 + 1);
    for (int i = 0; i < 4; i++) {
        uint8_t bytes[128];
        char name[64];
        const size_t *sizes = i < 2 ? train_sizes : test_sizes;
        size_t length = make_idx(bytes, i % 2 ? 1 : 3, sizes,
                                 i % 2 == 0 ? pixels
                                 : i == 1   ? train_labels
                                            : test_labels);
        snprintf(name, sizeof name, "%s%s%d-ubyte%s", names[i], suffix, i % 2 ? 1 : 3,
                 compressed ? ".gz" : "");
        if (compressed)
            data_put_gz(name, bytes, length);
        else
            io_put(name, bytes, length);
    }
}

static void check_idx(const char *where)
{
    for (int split = 0; split < 2; split++) {
        dataset *d = open_data(where, split ? DATASET_TEST : DATASET_TRAIN);
        const dataset_info *info = dataset_about(d);
        assert_int_equal(info->count, split ? 2 : 6);
        assert_int_equal(info->label_count, 5);
        assert_string_equal(info->label_names[4], "4");
        assert_int_equal(info->channels, 1);
        assert_int_equal(info->rows, 3);
        assert_int_equal(info->cols, 4);
        for (size_t i = 0; i < info->count; i++) {
            uint8_t out[36];
            assert_int_equal(fetch_as(d, i, 3, 4, 1, out), SSM2D_OK);
            assert_memory_equal(out, pixels + 12 * i, 12);
            assert_int_equal(fetch_as(d, i, 3, 4, 3, out), SSM2D_OK);
            for (int k = 0; k < 36; k++) assert_int_equal(out[k], pixels[12 * i + (size_t)k / 3]);
            assert_int_equal(dataset_label(d, i), split ? test_labels[i] : train_labels[i]);
        }
        dataset_close(d);
    }
}

static void reads_idx(void **state)
{
    (void)state;
    char where[128];
    static const char *const suffixes[] = {"-idx", ".idx"};
    for (int i = 0; i < 4; i++) {
        data_empty(folder);
        put_idx(suffixes[i / 2], i % 2);
        check_idx(folder);
        snprintf(where, sizeof where, "idx:%s", folder);
        check_idx(where);
        snprintf(where, sizeof where, "idx:%s/", folder);
        check_idx(where);
    }
}

/* Replaces one file of a good set and opens it. */
static ssm2d_status with_file(const char *name, const void *bytes, size_t size)
{
    data_empty(folder);
    put_idx("-idx", 0);
    io_put(name, bytes, size);
    return try_data(folder, DATASET_TRAIN);
}

static void refuses_bad_idx(void **state)
{
    (void)state;
    static const char *const images = "train-images-idx3-ubyte", *const labels =
                                                                     "train-labels-idx1-ubyte";
    static const struct {
        size_t at;
        uint8_t value;
        const char *line;
    } cases[] = {{0, 1, "begins with 01000803: expected 00000803, idx images"},
                 {2, 13, "begins with 00000d03"},
                 {3, 1, "begins with 00000801"},
                 {7, 0, "its header says count=0: use 1 or more"},
                 {7, 5, "has more bytes than its header says"},
                 {7, 7, "is truncated"},
                 {4, 255, "is truncated: its header says 51338281032 bytes, it has 88"},
                 {11, 0, "its header says rows=0: use 1 to 4096"},
                 {10, 17, "its header says rows=4355: use 1 to 4096"},
                 {15, 0, "its header says cols=0"},
                 {12, 1, "its header says cols=16777220"}};
    uint8_t bytes[256] = {0}, changed[256];
    size_t length = make_idx(bytes, 3, train_sizes, pixels);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(changed, bytes, length);
        changed[cases[i].at] = cases[i].value;
        if (with_file(images, changed, length) != SSM2D_ERROR_ARGUMENT)
            fail_msg("%s", cases[i].line);
        assert_line("/train-images-idx3-ubyte: ");
        assert_line(cases[i].line);
    }
    for (size_t n = 0; n < length; n++) {
        assert_int_equal(with_file(images, bytes, n), SSM2D_ERROR_ARGUMENT);
        assert_line("/train-images-idx3-ubyte: is truncated");
    }
    assert_int_equal(with_file(images, bytes, length + 1), SSM2D_ERROR_ARGUMENT);
    assert_line("has more bytes than its header says");

    size_t five = 5;
    length = make_idx(bytes, 1, &five, train_labels);
    assert_int_equal(with_file(labels, bytes, length), SSM2D_ERROR_ARGUMENT);
    assert_line("/train-labels-idx1-ubyte: has 5 labels, but there are 6 images");
    uint8_t beyond[] = {1, 5};
    length = make_idx(bytes, 1, test_sizes, beyond);
    with_file("t10k-labels-idx1-ubyte", bytes, length);
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_ERROR_ARGUMENT);
    assert_line("/t10k-labels-idx1-ubyte: image 1 has label 5, but there are 5 labels");
    unlink(io_path(labels));
    assert_int_equal(try_data(folder, DATASET_TRAIN), SSM2D_ERROR_SYSTEM);
    assert_line("/train-labels-idx1-ubyte: cannot be opened: No such file");
    /* with the classes of its own labels */
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_OK);
    unlink(io_path("t10k-images-idx3-ubyte"));
    mkdir(io_path("t10k-images-idx3-ubyte"), 0777);
    assert_int_equal(try_data(folder, DATASET_TEST), SSM2D_ERROR_ARGUMENT);
    assert_line("/t10k-images-idx3-ubyte: is a folder");
}

static void refuses_damaged_gz(void **state)
{
    (void)state;
    size_t size;
    put_idx("-idx", 1);
    unsigned char *bytes = io_get(io_path("train-images-idx3-ubyte.gz"), &size);
    for (size_t n = 0; n < size; n++) {
        io_put("train-images-idx3-ubyte.gz", bytes, n);
        if (!try_data(folder, DATASET_TRAIN)) fail_msg("%zu of %zu bytes were enough", n, size);
        assert_line("/train-images-idx3-ubyte.gz: ");
    }
    if (size > 18) bytes[size - 6] ^= 1; /* in the check sum */
    io_put("train-images-idx3-ubyte.gz", bytes, size);
    assert_int_equal(try_data(folder, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/train-images-idx3-ubyte.gz: ");
    free(bytes);
}

static ssm2d_status open_idx_test(void) { return try_data(folder, DATASET_TEST); }

static void fashion_mnist_has_published_content(void **state)
{
    (void)state;
    static const int first[] = {9, 0, 0, 3, 0, 2, 7, 2, 5, 5};
    if (access("/usr/share/datasets/fashion-mnist", F_OK)) {
        assert_int_equal(try_data("fashion-mnist", DATASET_TRAIN), SSM2D_ERROR_SYSTEM);
        assert_line("apt-get install dataset-fashion-mnist");
        print_message("SKIPPED: the package dataset-fashion-mnist is not installed\n");
        skip();
    }
    dataset *d = open_data("fashion-mnist", DATASET_TRAIN);
    const dataset_info *info = dataset_about(d);
    assert_int_equal(info->count, 60000);
    assert_int_equal(info->label_count, 10);
    assert_int_equal(info->rows * info->cols, 784);
    assert_string_equal(info->label_names[9], "Ankle boot");
    for (size_t i = 0; i < 10; i++) assert_int_equal(dataset_label(d, i), first[i]);
    resize *to;
    double sum = 0, squares = 0;
    uint8_t out[784];
    assert_int_equal(resize_create(context, 28, 28, 1, &to, &error), SSM2D_OK);
    for (size_t i = 0; i < info->count; i++) {
        assert_int_equal(dataset_fetch(d, i, to, out, &error), SSM2D_OK);
        for (int k = 0; k < 784; k++) {
            sum += out[k];
            squares += out[k] * out[k];
        }
    }
    double mean = sum / (60000 * 784.0), deviation = sqrt(squares / (60000 * 784.0) - mean * mean);
    assert_true(fabs(mean / 255 - (double)info->norm.mean[0]) < 1e-4);
    assert_true(fabs(deviation / 255 - (double)info->norm.std[0]) < 1e-4);
    resize_destroy(to);
    dataset_close(d);
    d = open_data("fashion-mnist", DATASET_TEST);
    assert_int_equal(dataset_about(d)->count, 10000);
    assert_int_equal(dataset_about(d)->label_count, 10);
    dataset_close(d);
}

static void fashion_mnist_of_other_files_has_its_class_names(void **state)
{
    (void)state;
    char where[128];
    snprintf(where, sizeof where, "fashion-mnist:%s", folder);
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("contains no idx files");
    put_idx("-idx", 0);
    dataset *d = open_data(where, DATASET_TRAIN);
    assert_int_equal(dataset_about(d)->label_count, 10);
    assert_string_equal(dataset_about(d)->label_names[1], "Trouser");
    dataset_close(d);
    uint8_t bytes[64], many[] = {0, 1, 2, 3, 4, 10};
    io_put("train-labels-idx1-ubyte", bytes, make_idx(bytes, 1, train_sizes, many));
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("has 11 labels: it is not Fashion-MNIST");
}

/* ---- CIFAR ----------------------------------------------------------------------------------- */

enum { PIXELS = 3072 };

/* Records with this number of label bytes; the pixel at (c, y, x) of image n is a function of all
 * four. */
static uint8_t pixel(size_t n, size_t c, size_t y, size_t x)
{
    return (uint8_t)(n * 91 + c * 50 + y * 7 + x);
}

static size_t make_cifar(uint8_t *out, size_t first, size_t count, size_t labels)
{
    size_t record = labels + PIXELS;
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = out + i * record;
        if (labels == 2) at[0] = 19;
        at[labels - 1] = (uint8_t)((first + i) % 10);
        for (size_t k = 0; k < PIXELS; k++)
            at[labels + k] = pixel(first + i, k / 1024, k / 32 % 32, k % 32);
    }
    return count * record;
}

static uint8_t records[8 * 3074];

static void put_cifar10(void)
{
    char name[32];
    for (size_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "data_batch_%zu.bin", i + 1);
        io_put(name, records, make_cifar(records, 3 * i, 3, 1));
    }
    io_put("test_batch.bin", records, make_cifar(records, 0, 2, 1));
}

static void check_cifar(const char *where, size_t train, size_t test, int classes,
                        const char *name3)
{
    for (int split = 0; split < 2; split++) {
        dataset *d = open_data(where, split ? DATASET_TEST : DATASET_TRAIN);
        const dataset_info *info = dataset_about(d);
        assert_int_equal(info->count, split ? test : train);
        assert_int_equal(info->label_count, classes);
        assert_string_equal(info->label_names[3], name3);
        assert_int_equal(info->channels, 3);
        assert_int_equal(info->rows, 32);
        assert_int_equal(info->cols, 32);
        for (size_t i = 0; i < info->count; i++) {
            uint8_t out[PIXELS];
            assert_int_equal(fetch_as(d, i, 32, 32, 3, out), SSM2D_OK);
            for (size_t k = 0; k < PIXELS; k++)
                assert_int_equal(out[k], pixel(i, k % 3, k / 96, k / 3 % 32));
            assert_int_equal(dataset_label(d, i), i % 10);
        }
        dataset_close(d);
    }
}

static void reads_cifar10(void **state)
{
    (void)state;
    char where[128];
    put_cifar10();
    snprintf(where, sizeof where, "cifar10:%s", folder);
    check_cifar(where, 15, 2, 10, "cat");
    check_cifar(folder, 15, 2, 10, "cat");
    static const char names[] = "a\nb\nc\r\nd\ne\nf\ng\nh\ni\nj\n\n";
    io_put("batches.meta.txt", names, sizeof names - 1);
    check_cifar(where, 15, 2, 10, "d");
    io_put("batches.meta.txt", names, 6);
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/batches.meta.txt: has 3 label names, expected 10");
}

/* White stays white; the rest is 0.2989 R + 0.587 G + 0.114 B, rounded. */
static void reads_lra_image(void **state)
{
    (void)state;
    char where[128];
    uint8_t out[1024];
    put_cifar10();
    make_cifar(records, 0, 2, 1);
    records[1] = records[1 + 1024] = records[1 + 2048] = 255;
    io_put("test_batch.bin", records, 2 * 3073);
    snprintf(where, sizeof where, "lra-image:%s", folder);
    dataset *d = open_data(where, DATASET_TEST);
    const dataset_info *info = dataset_about(d);
    assert_int_equal(info->count, 2);
    assert_int_equal(info->channels, 1);
    assert_int_equal(info->label_count, 10);
    assert_true(fabs((double)info->norm.mean[0] - .48) < 1e-7);
    assert_true(fabs((double)info->norm.std[2] - .24) < 1e-7);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fetch_as(d, i, 32, 32, 1, out), SSM2D_OK);
        assert_int_equal(dataset_label(d, i), i);
        for (size_t k = i ? 0 : 1; k < 1024; k++) {
            const double grey = .2989 * pixel(i, 0, k / 32, k % 32)
                                + .587 * pixel(i, 1, k / 32, k % 32)
                                + .114 * pixel(i, 2, k / 32, k % 32);
            assert_true(fabs(out[k] - grey) <= .5 + 1e-9);
        }
        if (!i) assert_int_equal(out[0], 255);
    }
    dataset_close(d);
    assert_int_equal(try_data(where, DATASET_VAL), SSM2D_ERROR_ARGUMENT);
    assert_line("has no validation split: use train or test");
}

static void reads_mnist(void **state)
{
    (void)state;
    char where[128];
    snprintf(where, sizeof where, "mnist:%s", folder);
    put_idx("-idx", 0);
    dataset *d = open_data(where, DATASET_TRAIN);
    assert_int_equal(dataset_about(d)->label_count, 10);
    assert_string_equal(dataset_about(d)->label_names[9], "9");
    assert_true(fabs((double)dataset_about(d)->norm.mean[0] - .1307) < 1e-7);
    dataset_close(d);
    uint8_t bytes[64], many[] = {0, 1, 2, 3, 4, 10};
    io_put("train-labels-idx1-ubyte", bytes, make_idx(bytes, 1, train_sizes, many));
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("has 11 labels: it is not MNIST");
}

static void reads_cifar100(void **state)
{
    (void)state;
    char where[128], names[1000] = "";
    io_put("train.bin", records, make_cifar(records, 0, 8, 2));
    io_put("test.bin", records, make_cifar(records, 0, 3, 2));
    snprintf(where, sizeof where, "cifar100:%s", folder);
    check_cifar(where, 8, 3, 100, "3");
    check_cifar(folder, 8, 3, 100, "3");
    for (int i = 0; i < 100; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "fine%d\n", i);
    io_put("fine_label_names.txt", names, strlen(names));
    check_cifar(where, 8, 3, 100, "fine3");
}

static void refuses_bad_cifar(void **state)
{
    (void)state;
    char where[128];
    snprintf(where, sizeof where, "cifar10:%s", folder);
    put_cifar10();
    size_t size = make_cifar(records, 9, 3, 1);
    records[3073] = 10;
    io_put("data_batch_4.bin", records, size);
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/data_batch_4.bin: image 1 has label 10, but there are 10 labels");
    io_put("data_batch_4.bin", records, size - 1);
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/data_batch_4.bin: has 9218 bytes, not a multiple of 3073");
    io_put("data_batch_4.bin", records, 0);
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    unlink(io_path("data_batch_4.bin"));
    assert_int_equal(try_data(where, DATASET_TRAIN), SSM2D_ERROR_SYSTEM);
    assert_line("/data_batch_4.bin: cannot be opened: No such file");
    assert_int_equal(try_data(where, DATASET_TEST), SSM2D_OK);
}

static ssm2d_status open_cifar(void) { return try_data(folder, DATASET_TRAIN); }

static void survives_failing_allocations(void **state)
{
    (void)state;
    put_idx("-idx", 1);
    assert_int_equal(io_fail_everywhere(open_idx_test), 6);
    data_empty(folder);
    put_cifar10();
    io_put("batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 20);
    assert_int_equal(io_fail_everywhere(open_cifar), 5);
}

/* ---- the registry ---------------------------------------------------------------------------- */

static void lists_available_data_sets(void **state)
{
    (void)state;
    const char *name, *help;
    int count = 0;
    for (; dataset_get(count, &name, &help); count++)
        assert_true(strlen(name) > 2 && strlen(help) > 20);
    assert_true(count >= 5);
    assert_int_equal(dataset_get(-1, &name, &help), 0);

    assert_int_equal(try_data("fashion-minst", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("did you mean fashion-mnist?");
    assert_int_equal(try_data("cifar:/tmp", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("did you mean cifar10");
    assert_int_equal(try_data("idx", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("idx needs a folder: give idx:FOLDER");
    assert_int_equal(try_data("cifar100:", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("needs a folder");
    assert_int_equal(try_data("/no/such/folder/anywhere", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/no/such/folder/anywhere is not a folder: give one, fashion-mnist, mnist:FOLDER, "
                "idx:FOLDER, cifar10:FOLDER");
    assert_int_equal(try_data("", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(try_data(folder, DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("contains no known data set: expected idx files; CIFAR-10's data_batch_*.bin; "
                "CIFAR-100's train.bin; Tiny-ImageNet's val/val_annotations.txt; CelebA's "
                "list_attr_celeba.txt; train/CLASS/*.png|jpg");
    assert_int_equal(try_data(io_put("file", "", 0), DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("/file: is not a folder");
}

static void assert_title(const char *where, const char *expected)
{
    char title[32];
    dataset_title(where, title, sizeof title);
    assert_string_equal(title, expected);
}

static void data_sets_have_short_titles(void **state)
{
    (void)state;
    assert_title("fashion-mnist", "fashion-mnist");
    assert_title("cifar10:/a/long/way", "cifar10");
    assert_title("folder:/data/flowers/", "flowers");
    assert_title("idx:letters", "letters");
    assert_title("idx:", "idx");
    assert_title("/data/flowers", "flowers");
    assert_title("../data//", "data");
    assert_title("/", "/");
    assert_title("", "");
    assert_title("/a/name.that.is.longer.than.there.is.space", "name.that.is.longer.than.there.");
}

static void normalises_for_other_channels(void **state)
{
    (void)state;
    put_cifar10();
    dataset *d = open_data(folder, DATASET_TRAIN);
    normalisation n = dataset_norm(dataset_about(d), 3);
    assert_memory_equal(&n, &dataset_about(d)->norm, sizeof n);
    n = dataset_norm(dataset_about(d), 1);
    assert_true(fabs((double)n.mean[0] - (.4914 + .4822 + .4465) / 3) < 1e-6);
    assert_true(fabs((double)n.std[0] - (.2470 + .2435 + .2616) / 3) < 1e-6);
    dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_idx),
        TEST(refuses_bad_idx),
        TEST(refuses_damaged_gz),
        TEST(fashion_mnist_has_published_content),
        TEST(fashion_mnist_of_other_files_has_its_class_names),
        TEST(reads_cifar10),
        TEST(reads_cifar100),
        TEST(reads_lra_image),
        TEST(reads_mnist),
        TEST(refuses_bad_cifar),
        TEST(survives_failing_allocations),
        TEST(lists_available_data_sets),
        TEST(data_sets_have_short_titles),
        TEST(normalises_for_other_channels),
    };
    return cmocka_run_group_tests_name("dataset", tests, io_setup, data_end);
}
