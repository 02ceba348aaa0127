/* Targets: smoothing by its formula to the bit, which predictions count as correct, and both kinds
 * of labels through the loader. */
#include "data_helpers.h"

#include "binary_data.h"
#include "data/loader.h"
#include "tasks/task.h"

static void smooth(const task *t, int outputs, double e, float *target)
{
    const target_format f = task_targets(t, &(task_shape){.outputs = outputs}, e);
    assert_int_equal(f.elements, outputs);
    f.make(&f, NULL, target);
}

/* The part of the first metric that an image adds to. */
static double score(const task *t, int outputs, const float *out, const float *target)
{
    double values[TASK_VALUES];
    t->judge(out, target, &(task_shape){.outputs = outputs}, values);
    return values[0];
}

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
            smooth(&task_classification, classes, e, target);
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
    smooth(&task_attributes, 3, 0, target);
    assert_true(target[0] == 0 && target[1] == 1 && target[2] == 1);
    smooth(&task_attributes, 3, 0.25, target);
    assert_true(target[0] == 0.125f && target[1] == 0.875f && target[2] == 0.875f);
}

static void correct_predictions_are_counted(void **state)
{
    (void)state;
    static const float logits[] = {-1, 2, 0, 0.5f}, mixed[] = {.2f, .5f, .3f, 0},
                       other[] = {.5f, .2f, .3f, 0};
    const task_shape four = {.outputs = 4};
    assert_true(task_score(&task_classification, &four, 3, 6) == .5);
    assert_true(score(&task_classification, 4, logits, mixed) == 1);
    assert_true(score(&task_classification, 4, logits, other) == 0);
    static const float attributes[] = {0, .9f, .1f, .2f}, all_wrong[] = {1, 0, 1, 0};
    assert_true(task_score(&task_attributes, &four, 12, 6) == .5);
    assert_true(score(&task_attributes, 4, logits, attributes) == 3);
    assert_true(score(&task_attributes, 4, logits, all_wrong) == 0);
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
        o.targets =
            task_targets(task_chosen(0, dataset_about(d)), &(task_shape){.outputs = CORNERS}, 0.5);
        if (loader_create(context, d, &o, &l, &error)) fail_msg("%s", error.line);
        for (size_t n = 0; n < loader_batches(l); n++) {
            loader_batch b;
            assert_int_equal(loader_next(l, &b, &error), SSM2D_OK);
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

static void invalid_smoothing_is_refused(void **state)
{
    (void)state;
    dataset *d = open_data("corners", DATASET_TRAIN);
    loader *l;
    loader_options o = loader_options_default(d);
    o.targets.smoothing = 1;
    assert_int_equal(loader_create(context, d, &o, &l, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("smoothing=1: use a number from 0 to below 1");
    assert_null(l);
    dataset_close(d);
}

/* ---- labels of pixels ------------------------------------------------------------------------ */

enum { MAP_ROWS = 6, MAP_COLS = 10, MAP_SIZE = MAP_ROWS * MAP_COLS, MAP_LABELS = 25 };
enum { MAP_IMAGES = 40 };

static int map_label(size_t i, size_t y, size_t x)
{
    return (int)((i * 7 + y * MAP_COLS + x) % MAP_LABELS);
}

static int pixel_of(int label) { return 10 * label + 3; }

static ssm2d_status mapped_open(dataset *d, const char *place, dataset_split split,
                                ssm2d_error *why)
{
    (void)place;
    (void)split;
    d->info = (dataset_info){.count = MAP_IMAGES,
                             .maps = 1,
                             .channels = 1,
                             .rows = MAP_ROWS,
                             .cols = MAP_COLS,
                             .norm = {{0, 0, 0}, {1, 1, 1}}};
    return dataset_name_labels(d, 2, NULL, why);
}

static ssm2d_status fetch_mapped(size_t i, int is_map, resize *to, uint8_t *pixels,
                                 ssm2d_error *why)
{
    uint8_t row[MAP_COLS];
    ssm2d_status status = resize_start(to, "mapped", MAP_ROWS, MAP_COLS, 1, pixels, why);
    for (size_t y = 0; y < MAP_ROWS && !status; y++) {
        for (size_t x = 0; x < MAP_COLS; x++) {
            const int label = map_label(i, y, x);
            row[x] = (uint8_t)(is_map ? label : pixel_of(label));
        }
        resize_row(to, row);
    }
    return status;
}

static ssm2d_status mapped_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                                 ssm2d_error *why)
{
    (void)d;
    return fetch_mapped(i, 0, to, pixels, why);
}

static ssm2d_status mapped_fetch_map(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                                     ssm2d_error *why)
{
    (void)d;
    return fetch_mapped(i, 1, to, pixels, why);
}

static int mapped_label(const dataset *d, size_t i)
{
    (void)d;
    return (int)(i % 2);
}

static const dataset_impl dataset_mapped = {.name = "mapped",
                                            .help = "labels of pixels, made by the test",
                                            .contents = "nothing",
                                            .default_folder = "nowhere",
                                            .open = mapped_open,
                                            .fetch = mapped_fetch,
                                            .fetch_map = mapped_fetch_map,
                                            .label = mapped_label,
                                            .close = corners_close};

static dataset *open_mapped(loader_options *o)
{
    static const dataset_impl *const both[] = {&dataset_corners, &dataset_mapped, NULL};
    dataset_extra = both;
    dataset *d = open_data("mapped", DATASET_TRAIN);
    *o = loader_options_default(d);
    o->batch = 10;
    o->train = 1;
    o->seed = 3;
    o->targets =
        (target_format){.elements = MAP_SIZE, .mixing = TARGET_MAP, .source = TARGET_FROM_MAP};
    return d;
}

static void set_augment(loader_options *o, const char *name, const char *text)
{
    if (augment_options_set(&o->augment, name, text, &error)) fail_msg("%s", error.line);
}

static void maps_move_with_their_images(void **state)
{
    (void)state;
    loader_options o;
    loader *l;
    dataset *d = open_mapped(&o);
    set_augment(&o, "flip", "true");
    set_augment(&o, "crop_padding", "2");
    set_augment(&o, "cutmix", "1");
    if (loader_create(context, d, &o, &l, &error)) fail_msg("%s", error.line);
    int outside = 0, moved = 0, mixed = 0;
    for (int n = 0; n < 12; n++) {
        loader_batch b;
        assert_int_equal(loader_next(l, &b, &error), SSM2D_OK);
        for (size_t k = 0; k < b.count * MAP_SIZE; k++) {
            const size_t i = b.samples[k / MAP_SIZE].image, at = k % MAP_SIZE;
            const int pixel = (int)(b.images[k] * 255 + .5f), label = (int)b.targets[k];
            assert_int_equal(pixel, label == TARGET_IGNORED ? 0 : pixel_of(label));
            outside += label == TARGET_IGNORED;
            moved += label != map_label(i, at / MAP_COLS, at % MAP_COLS);
            mixed += at % MAP_COLS && label < 24 && b.targets[k - 1] < 24
                     && abs(label - (int)b.targets[k - 1]) > 1;
        }
    }
    assert_true(outside > 0 && moved > outside && mixed > 0);
    loader_destroy(l);
    dataset_close(d);
}

/* Labels are not interpolated: half the size has those at the centres. */
static void maps_are_resized_without_interpolation(void **state)
{
    (void)state;
    loader_options o;
    loader *l;
    loader_batch b;
    dataset *d = open_mapped(&o);
    o.train = 0;
    o.rows = MAP_ROWS / 2;
    o.cols = MAP_COLS / 2;
    o.targets.elements = MAP_SIZE / 4;
    if (loader_create(context, d, &o, &l, &error)) fail_msg("%s", error.line);
    assert_int_equal(loader_next(l, &b, &error), SSM2D_OK);
    for (size_t i = 0; i < b.count; i++)
        for (size_t y = 0; y < MAP_ROWS / 2; y++)
            for (size_t x = 0; x < MAP_COLS / 2; x++)
                assert_int_equal((int)b.targets[i * MAP_SIZE / 4 + y * MAP_COLS / 2 + x],
                                 map_label(i, 2 * y + 1, 2 * x + 1));
    loader_destroy(l);
    o.train = 1;
    set_augment(&o, "resized_crop", "0.3");
    if (loader_create(context, d, &o, &l, &error)) fail_msg("%s", error.line);
    for (int n = 0; n < 12; n++) {
        assert_int_equal(loader_next(l, &b, &error), SSM2D_OK);
        for (size_t k = 0; k < b.count * MAP_SIZE / 4; k++)
            assert_true(b.targets[k] >= 0 && b.targets[k] < MAP_LABELS);
    }
    loader_destroy(l);
    dataset_close(d);
}

static void refuses_maps_that_do_not_fit(void **state)
{
    (void)state;
    loader_options o;
    loader *l;
    dataset *d = open_mapped(&o), *other = open_data("corners", DATASET_TRAIN);
    o.targets.elements = MAP_SIZE - 1;
    assert_int_equal(loader_create(context, d, &o, &l, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("targets of 59 elements: images have 6 x 10 pixels");
    o.targets.elements = MAP_SIZE;
    assert_int_equal(loader_create(context, other, &o, &l, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("the data set has no maps of labels");
    set_augment(&o, "randaugment", "2");
    assert_int_equal(loader_create(context, d, &o, &l, &error), SSM2D_ERROR_UNSUPPORTED);
    assert_line("randaugment: cannot transform the labels of pixels");
    dataset_close(d);
    dataset_close(other);
}

static void extra_data_set_is_listed_last(void **state)
{
    (void)state;
    const char *name, *help;
    int count = 0;
    while (dataset_get(count, &name, &help)) count++;
    assert_true(dataset_get(count - 1, &name, &help));
    assert_string_equal(name, "corners");
    dataset_extra = NULL;
    assert_int_equal(try_data("corners", DATASET_TRAIN), SSM2D_ERROR_ARGUMENT);
    assert_line("corners is not a folder");
}

static int begin(void **state)
{
    dataset_extra = corners_only;
    return data_begin(state);
}

#define TARGETS(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TARGETS(smooths_classes),
        TARGETS(smooths_attributes),
        TARGETS(correct_predictions_are_counted),
        TARGETS(loads_binary_labels),
        TARGETS(invalid_smoothing_is_refused),
        TARGETS(extra_data_set_is_listed_last),
        TARGETS(maps_move_with_their_images),
        TARGETS(maps_are_resized_without_interpolation),
        TARGETS(refuses_maps_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("targets", tests, io_setup, data_end);
}
