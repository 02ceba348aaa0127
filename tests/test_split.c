/* Parts of a data set: the same share of every class, no image twice, chosen by the seed alone. */
#include "data_helpers.h"

#include "binary_data.h"
#include "data/split.h"

#include <math.h>

enum { CLASSES = 4, MAX_IMAGES = 400 };
static const int counts[CLASSES] = {103, 50, 7, 40}; /* images of each class */
enum { IMAGES = 200 };

/* Image i of class c is a pixel of brightness i, its first; classes are mixed. */
static void put_images(void)
{
    static uint8_t bytes[16 + MAX_IMAGES], pixels[MAX_IMAGES], labels[MAX_IMAGES];
    int left[CLASSES], n = 0;
    memcpy(left, counts, sizeof left);
    for (int turn = 0; n < IMAGES; turn++)
        if (left[turn % CLASSES]) {
            left[turn % CLASSES]--;
            labels[n] = (uint8_t)(turn % CLASSES);
            pixels[n] = (uint8_t)n;
            n++;
        }
    const size_t sizes[] = {IMAGES, 1, 1}, one[] = {4, 1, 1};
    io_put("train-images-idx3-ubyte", bytes, make_idx(bytes, 3, sizes, pixels));
    io_put("train-labels-idx1-ubyte", bytes, make_idx(bytes, 1, sizes, labels));
    io_put("t10k-images-idx3-ubyte", bytes, make_idx(bytes, 3, one, pixels));
    io_put("t10k-labels-idx1-ubyte", bytes, make_idx(bytes, 1, one, labels));
}

typedef struct part {
    size_t count;
    int of_class[CLASSES];
    char has[MAX_IMAGES];
} part;

static part look_at(const dataset *d)
{
    part p = {.count = dataset_about(d)->count};
    int before = -1;
    for (size_t i = 0; i < p.count; i++) {
        uint8_t pixel;
        assert_int_equal(fetch_as(d, i, 1, 1, 1, &pixel), SSM2D_OK);
        assert_true((int)pixel > before); /* in their order, no image twice */
        before = pixel;
        p.has[pixel] = 1;
        p.of_class[dataset_label(d, i)]++;
    }
    return p;
}

typedef struct parts {
    part train, choose;
    split_choice choice;
} parts;

static parts open_parts(double val, double fraction, uint64_t seed)
{
    const split_options o = {val, fraction, seed};
    dataset *train, *choose, *again;
    parts p;
    if (split_open_training(context, folder, &o, &train, &choose, &p.choice, &error))
        fail_msg("%s", error.line);
    p.train = look_at(train);
    p.choose = look_at(choose);
    dataset_close(train); /* the other still has its images */
    look_at(choose);
    dataset_close(choose);
    /* read one by one they are the same */
    assert_int_equal(split_open(context, folder, &o, DATASET_TRAIN, &again, &error), SSM2D_OK);
    part same = look_at(again);
    assert_memory_equal(&same, &p.train, sizeof same);
    dataset_close(again);
    if (val > 0) {
        assert_int_equal(split_open(context, folder, &o, DATASET_VAL, &again, &error), SSM2D_OK);
        same = look_at(again);
        assert_memory_equal(&same, &p.choose, sizeof same);
        dataset_close(again);
    }
    return p;
}

static void every_class_is_split(void **state)
{
    (void)state;
    put_images();
    static const double fractions[][2] = {{.1, 1}, {.1, .1}, {.25, .5}, {.5, .3}, {.013, .99}};
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
        const double val = fractions[i][0], train = fractions[i][1];
        const parts p = open_parts(val, train, 5);
        assert_int_equal(p.choice, CHOICE_HELD_OUT);
        double total = 0;
        for (int c = 0; c < CLASSES; c++) {
            const double held = val * counts[c], rest = counts[c] - p.choose.of_class[c];
            assert_true(fabs(p.choose.of_class[c] - held) <= 1);
            assert_true(fabs(p.train.of_class[c] - train * rest) <= 1);
            assert_true(p.train.of_class[c] >= 1);
            total += held;
        }
        assert_true(fabs((double)p.choose.count - total) <= .5);
        for (int k = 0; k < IMAGES; k++) assert_false(p.train.has[k] && p.choose.has[k]);
        if (train >= 1) assert_int_equal(p.train.count + p.choose.count, IMAGES);
    }
}

static void split_depends_on_the_seed_only(void **state)
{
    (void)state;
    put_images();
    const parts a = open_parts(.2, .5, 1), b = open_parts(.2, .5, 1), c = open_parts(.2, .5, 2);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(a.choose.has, c.choose.has, IMAGES);
    assert_memory_not_equal(a.train.has, c.train.has, IMAGES);
    /* the held-out images do not depend on the training fraction */
    const parts d = open_parts(.2, .1, 1);
    assert_memory_equal(a.choose.has, d.choose.has, IMAGES);
}

static void choice_images_come_from_the_first_available_split(void **state)
{
    (void)state;
    put_images();
    parts p = open_parts(0, 1, 0);
    assert_int_equal(p.choice, CHOICE_TEST);
    assert_int_equal(p.train.count, IMAGES);
    assert_int_equal(p.choose.count, 4);
    p = open_parts(0, .5, 0);
    assert_int_equal(p.train.count, 100);
    assert_int_equal(p.choose.count, 4);

    data_empty(folder);
    const uint8_t pixel = 0;
    char name[64];
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "%c/%d.png", 'a' + i % 2, i);
        data_put_png(name, 1, 1, 1, &pixel);
    }
    const split_options none = {0, 1, 0}, tenth = {.2, 1, 0}, little = {.01, 1, 0};
    dataset *train, *choose;
    assert_int_equal(
        split_open_training(context, folder, &none, &train, &choose, &p.choice, &error),
        SSM2D_ERROR_ARGUMENT);
    assert_line("has no images to test on: ");
    assert_int_equal(
        split_open_training(context, folder, &little, &train, &choose, &p.choice, &error),
        SSM2D_ERROR_ARGUMENT);
    assert_line("val-fraction=0.01 of 10 images holds out none");
    assert_int_equal(
        split_open_training(context, folder, &tenth, &train, &choose, &p.choice, &error), SSM2D_OK);
    assert_int_equal(dataset_about(train)->count, 8);
    assert_int_equal(dataset_about(choose)->count, 2);
    assert_int_not_equal(dataset_label(choose, 0), dataset_label(choose, 1));
    dataset_close(train);
    dataset_close(choose);
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "%s/a/%d.png", k ? "val" : "test", k);
        data_put_png(name, 1, 1, 1, &pixel);
    }
    snprintf(name, sizeof name, "train/a/1.png");
    data_put_png(name, 1, 1, 1, &pixel);
    assert_int_equal(
        split_open_training(context, folder, &none, &train, &choose, &p.choice, &error), SSM2D_OK);
    assert_int_equal(p.choice, CHOICE_VAL);
    dataset_close(train);
    dataset_close(choose);
}

static void refuses_bad_fractions(void **state)
{
    (void)state;
    put_images();
    static const struct {
        split_options o;
        const char *line;
    } bad[] = {{{-.1, 1, 0}, "val-fraction=-0.1: use a number from 0 to below 1"},
               {{1, 1, 0}, "val-fraction=1: use"},
               {{NAN, 1, 0}, "val-fraction="},
               {{0, 0, 0}, "train-fraction=0: use a number above 0, up to 1"},
               {{0, 1.5, 0}, "train-fraction=1.5"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dataset *d;
        const ssm2d_status status =
            split_open(context, folder, &bad[i].o, DATASET_TRAIN, &d, &error);
        if (status != SSM2D_ERROR_ARGUMENT) fail_msg("%zu: %d", i, status);
        assert_null(d);
        assert_line(bad[i].line);
    }
}

static void divides_binary_labels(void **state)
{
    (void)state;
    dataset_extra = corners_only;
    const split_options o = {.25, .5, 3};
    dataset *train, *choose;
    split_choice choice;
    assert_int_equal(split_open_training(context, "corners", &o, &train, &choose, &choice, &error),
                     SSM2D_OK);
    assert_int_equal(dataset_about(choose)->count, CORNERS_TRAIN / 4);
    assert_int_equal(dataset_about(train)->count, CORNERS_TRAIN * 3 / 8);
    float target[CORNERS];
    dataset_target(train, 0, target);
    dataset_close(train);
    dataset_close(choose);
    dataset_extra = NULL;
}

static ssm2d_status divide(void)
{
    const split_options o = {.2, .5, 1};
    dataset *train, *choose;
    split_choice choice;
    const ssm2d_status status =
        split_open_training(context, folder, &o, &train, &choose, &choice, &error);
    if (status) assert_true(!train && !choose);
    dataset_close(train);
    dataset_close(choose);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    put_images();
    assert_true(io_fail_everywhere(divide) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_class_is_split),
        TEST(split_depends_on_the_seed_only),
        TEST(choice_images_come_from_the_first_available_split),
        TEST(refuses_bad_fractions),
        TEST(divides_binary_labels),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("split", tests, io_setup, data_end);
}
