/* Targets: smoothing to the bit as its formula says, what counts as right, and both kinds of labels
 * on their way through the loader. */
#include "data_helpers.h"

#include "binary_data.h"
#include "data/loader.h"
#include "data/targets.h"

static void smooths_classes(void **state)
{
    (void)state;
    static const double parts[] = {0, 0.1, 0.3, 0.999};
    for (int classes = 1; classes < 300; classes += 7)
        for (int p = 0; p < 4; p++) {
            float target[300] = {0};
            const double e = parts[p];
            const int label = classes / 2;
            target[label] = 1;
            target_smooth(LABEL_CLASS, classes, e, target);
            for (int c = 0; c < classes; c++)
                assert_true(target[c]
                            == (c == label ? (float)(1 - e + e / (double)classes)
                                           : (float)(e / (double)classes)));
            assert_int_equal(largest_index(target, classes), label);
        }
}

static void smooths_attributes(void **state)
{
    (void)state;
    float target[] = {0, 1, 1};
    target_smooth(LABEL_BINARY, 3, 0, target);
    assert_true(target[0] == 0 && target[1] == 1 && target[2] == 1);
    target_smooth(LABEL_BINARY, 3, 0.25, target);
    assert_true(target[0] == 0.125f && target[1] == 0.875f && target[2] == 0.875f);
}

static void counts_what_is_right(void **state)
{
    (void)state;
    static const float logits[] = {-1, 2, 0, 0.5f}, mixed[] = {.2f, .5f, .3f, 0},
                       other[] = {.5f, .2f, .3f, 0};
    assert_int_equal(label_decisions(LABEL_CLASS, 4), 1);
    assert_int_equal(label_correct(LABEL_CLASS, 4, logits, mixed), 1);
    assert_int_equal(label_correct(LABEL_CLASS, 4, logits, other), 0);
    static const float attributes[] = {0, .9f, .1f, .2f}, all_wrong[] = {1, 0, 1, 0};
    assert_int_equal(label_decisions(LABEL_BINARY, 4), 4);
    assert_int_equal(label_correct(LABEL_BINARY, 4, logits, attributes), 3);
    assert_int_equal(label_correct(LABEL_BINARY, 4, logits, all_wrong), 0);
    static const float equal[] = {3, 3, 3};
    assert_int_equal(largest_index(equal, 3), 0);
}

static void loads_binary_labels(void **state)
{
    (void)state;
    dataset *d = open_data("corners", DATASET_TRAIN);
    loader *l;
    assert_int_equal(dataset_about(d)->labels, LABEL_BINARY);
    loader_options o = loader_options_default(d);
    o.batch = 5;
    for (int train = 0; train < 2; train++) {
        o.train = train;
        o.smoothing = 0.5;
        if (loader_create(context, d, &o, &l, &error)) fail_msg("%s", error.line);
        assert_int_equal(loader_labels(l), LABEL_BINARY);
        for (size_t n = 0; n < loader_batches(l); n++) {
            loader_batch b;
            assert_int_equal(loader_next(l, &b, &error), SSM2D_OK);
            assert_null(b.labels);
            for (size_t i = 0; i < b.count; i++)
                for (int c = 0; c < CORNERS; c++) {
                    const float *image = b.images + i * CORNERS_SIZE,
                                t = b.targets[i * CORNERS + c];
                    const int bright = image[corner_pixel(c)] > 0;
                    assert_true(t == (train ? (bright ? .75f : .25f) : (bright ? 1 : 0)));
                }
        }
        loader_destroy(l);
    }
    dataset_close(d);
}

static void refuses_odd_smoothing(void **state)
{
    (void)state;
    dataset *d = open_data("corners", DATASET_TRAIN);
    loader *l;
    loader_options o = loader_options_default(d);
    o.smoothing = 1;
    assert_int_equal(loader_create(context, d, &o, &l, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("smoothing=1: use a number from 0 to below 1");
    assert_null(l);
    dataset_close(d);
}

static void data_sets_are_registered_once(void **state)
{
    (void)state;
    const char *name, *help;
    int count = 0;
    assert_int_equal(dataset_register(&dataset_corners, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("data set corners: there is one of that name");
    while (dataset_get(count, &name, &help)) count++;
    assert_true(dataset_get(count - 1, &name, &help));
    assert_string_equal(name, "corners");
    dataset_forget_registered();
    assert_int_equal(try_data("corners", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("corners is no folder");
}

static int begin(void **state)
{
    dataset_forget_registered();
    return data_begin(state) || dataset_register(&dataset_corners, &error) ? -1 : 0;
}

#define TARGETS(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TARGETS(smooths_classes),       TARGETS(smooths_attributes),
        TARGETS(counts_what_is_right),  TARGETS(loads_binary_labels),
        TARGETS(refuses_odd_smoothing), TARGETS(data_sets_are_registered_once),
    };
    return cmocka_run_group_tests_name("targets", tests, io_setup, data_end);
}
