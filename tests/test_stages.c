/* Augmentations defined by the test, one for each stage, in the loader: their effect, their order,
 * and that they depend on (seed, epoch, image or batch) only. */
#include "data_helpers.h"

#include "augment_examples.h"
#include "data/loader.h"
#include "tasks/task.h"

enum { COUNT = 53, ROWS = 4, COLS = 10, SIZE = ROWS * COLS, CLASSES = 7 };
enum { BATCH = 8, BATCHES = COUNT / BATCH, EPOCHS = 3, WIDTH = 5, OUT = ROWS * WIDTH };

static uint8_t pixels[COUNT * SIZE];

static dataset *numbered(void)
{
    static uint8_t bytes[16 + COUNT * SIZE], labels[COUNT];
    static const size_t sizes[] = {COUNT, ROWS, COLS};
    for (int i = 0; i < COUNT; i++) {
        labels[i] = (uint8_t)(i % CLASSES);
        for (int k = 0; k < SIZE; k++) pixels[i * SIZE + k] = (uint8_t)(k ? i * 31 + k * 17 : i);
    }
    io_put("train-images-idx3-ubyte", bytes, make_idx(bytes, 3, sizes, pixels));
    io_put("train-labels-idx1-ubyte", bytes, make_idx(bytes, 1, sizes, labels));
    return open_data(folder, DATASET_TRAIN);
}

static int begin(void **state)
{
    augmentation_extra = augment_examples;
    return data_begin(state);
}

static int end(void **state)
{
    (void)state;
    augmentation_extra = NULL;
    return 0;
}

static void set(loader_options *o, const char *name, const char *text)
{
    if (augment_options_set(&o->augment, name, text, &error)) fail_msg("%s", error.line);
}

static loader_options options_for(const dataset *d, int train)
{
    loader_options o = loader_options_default(d);
    o.train = train;
    o.batch = BATCH;
    o.seed = 5;
    o.targets = task_targets(&task_classification, &(task_shape){.outputs = CLASSES}, 0.1);
    o.norm = (normalisation){{.25f}, {2, 2, 2}};
    return o;
}

static loader *create(const dataset *d, const loader_options *o)
{
    loader *l;
    if (loader_create(context, d, o, &l, &error)) fail_msg("%s", error.line);
    return l;
}

static loader_batch next(loader *l)
{
    loader_batch b;
    if (loader_next(l, &b, &error)) fail_msg("%s", error.line);
    return b;
}

static float value(int pixel) { return ((float)pixel / 255 - .25f) / 2; }

/* ---- effect of each augmentation ------------------------------------------------------------- */

static void decode_sees_the_source(void **state)
{
    (void)state;
    dataset *d = numbered();
    for (int right = 0; right < 2; right++) {
        loader_options o = options_for(d, 0); /* this one acts in evaluation as well */
        o.cols = WIDTH;
        set(&o, "half", right ? "right" : "left");
        loader *l = create(d, &o);
        for (size_t n = 0; n < loader_batches(l); n++) {
            loader_batch b = next(l);
            for (size_t i = 0; i < b.count; i++)
                for (size_t k = 0; k < OUT; k++) {
                    const size_t image = n * BATCH + i, y = k / WIDTH,
                                 x = k % WIDTH + (right ? COLS - WIDTH : 0);
                    assert_true(b.images[i * OUT + k]
                                == value(pixels[image * SIZE + y * COLS + x]));
                }
        }
        loader_destroy(l);
    }
    dataset_close(d);
}

/* Which half depends on (seed, epoch, image). */
static void decode_draws_for_each_image(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 1);
    o.cols = WIDTH;
    set(&o, "half", "random");
    loader *l = create(d, &o);
    int sides[2] = {0};
    o.augment = augment_options_default(); /* the same order of images, all of each image */
    o.cols = COLS;
    loader *whole = create(d, &o);
    for (int n = 0; n < EPOCHS * BATCHES; n++) {
        loader_batch b = next(l), all = next(whole);
        for (size_t i = 0; i < b.count; i++) {
            const uint64_t image = (uint64_t)((all.images[i * SIZE] * 2 + .25f) * 255 + .5f);
            rng r = keyed_rng(5, (rng_purpose)RNG_EXAMPLE_HALF, b.epoch, image);
            const int right = rng_below(&r, 2) != 0;
            sides[right]++;
            for (size_t y = 0; y < ROWS; y++)
                assert_memory_equal(b.images + i * OUT + y * WIDTH,
                                    all.images + i * SIZE + y * COLS + (right ? COLS - WIDTH : 0),
                                    WIDTH * sizeof(float));
        }
    }
    assert_true(sides[0] > 40 && sides[1] > 40);
    loader_destroy(l);
    loader_destroy(whole);
    dataset_close(d);
}

/* The white pixel is normalised, the noise is not: PIXELS come before FLOATS. */
static void pixels_come_before_floats(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 1);
    loader *plain = create(d, &o);
    set(&o, "mark", "1,2");
    loader *marked = create(d, &o);
    set(&o, "noise", "0.5");
    loader *noisy = create(d, &o);
    double sum = 0, squares = 0;
    for (int n = 0; n < EPOCHS * BATCHES; n++) {
        loader_batch a = next(plain), b = next(marked), c = next(noisy);
        for (size_t i = 0; i < BATCH * SIZE; i++) {
            const int is_mark = i % SIZE == COLS + 2;
            assert_true(b.images[i] == (is_mark ? value(255) : a.images[i]));
            const double noise = (double)c.images[i] - (double)b.images[i];
            sum += noise;
            squares += noise * noise;
        }
        assert_memory_equal(a.samples, c.samples, BATCH * sizeof *a.samples);
        assert_memory_equal(a.targets, c.targets, BATCH * CLASSES * sizeof(float));
    }
    const double count = EPOCHS * BATCHES * BATCH * SIZE;
    assert_true(sum / count < 0.03 && sum / count > -0.03);
    assert_true(squares / count > 0.23 && squares / count < 0.27);
    loader_destroy(plain);
    loader_destroy(marked);
    loader_destroy(noisy);
    dataset_close(d);
}

/* Mixes images and smoothed targets with a weight that depends on the batch index only. */
static void batches_are_mixed(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 1);
    loader *plain = create(d, &o);
    set(&o, "blend", "true");
    loader *mixed = create(d, &o);
    float images[BATCH * SIZE], targets[BATCH * CLASSES], scratch[BATCH * SIZE];
    for (int n = 0; n < EPOCHS * BATCHES; n++) {
        loader_batch a = next(plain), b = next(mixed);
        rng r = keyed_rng(5, (rng_purpose)RNG_EXAMPLE_MIX, b.epoch, b.index);
        const float weight = (float)rng_uniform(&r, 0, 1);
        memcpy(images, a.images, sizeof images);
        memcpy(targets, a.targets, sizeof targets);
        mix_rows(images, scratch, BATCH, SIZE, weight);
        mix_rows(targets, scratch, BATCH, CLASSES, weight);
        assert_memory_equal(b.images, images, sizeof images);
        assert_memory_equal(b.targets, targets, sizeof targets);
        assert_memory_equal(b.samples, a.samples, BATCH * sizeof *a.samples);
        for (size_t i = 0; i < BATCH; i++) { /* the larger weight has the larger target */
            const size_t larger = weight > 0.5f ? i : BATCH - 1 - i;
            assert_int_equal(largest_index(b.targets + i * CLASSES, CLASSES),
                             dataset_label(d, a.samples[larger].image));
        }
    }
    loader_destroy(plain);
    loader_destroy(mixed);
    dataset_close(d);
}

static void evaluation_is_not_augmented(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 0);
    set(&o, "mark", "1,2");
    set(&o, "noise", "1");
    set(&o, "blend", "true");
    set(&o, "flip", "true");
    loader *l = create(d, &o);
    for (size_t n = 0; n < loader_batches(l); n++) {
        loader_batch b = next(l);
        for (size_t i = 0; i < b.count; i++) {
            const size_t image = n * BATCH + i;
            for (size_t k = 0; k < SIZE; k++)
                assert_true(b.images[i * SIZE + k] == value(pixels[image * SIZE + k]));
            for (size_t c = 0; c < CLASSES; c++) /* without smoothing */
                assert_true(b.targets[i * CLASSES + c] == (c == image % CLASSES ? 1 : 0));
        }
    }
    loader_destroy(l);
    dataset_close(d);
}

/* ---- all augmentations: determinism ---------------------------------------------------------- */

static loader_options everything(const dataset *d)
{
    loader_options o = options_for(d, 1);
    o.cols = WIDTH;
    set(&o, "half", "random");
    set(&o, "flip", "true");
    set(&o, "crop_padding", "1");
    set(&o, "mark", "1,1");
    set(&o, "noise", "0.1");
    set(&o, "blend", "true");
    return o;
}

/* FNV-1a over images, samples and targets. */
static uint64_t hash(const loader_batch *b)
{
    uint64_t h = 14695981039346656037u;
    const void *blocks[] = {b->images, b->samples, b->targets};
    const size_t sizes[] = {b->count * OUT * sizeof(float), b->count * sizeof *b->samples,
                            b->count * CLASSES * sizeof(float)};
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < sizes[k]; i++)
            h = (h ^ ((const unsigned char *)blocks[k])[i]) * 1099511628211u;
    return h;
}

static void record(const dataset *d, const loader_options *o, uint64_t hashes[EPOCHS * BATCHES])
{
    loader *l = create(d, o);
    for (int i = 0; i < EPOCHS * BATCHES; i++) {
        loader_batch b = next(l);
        hashes[i] = hash(&b);
    }
    loader_destroy(l);
}

static void prefetching_changes_no_bit(void **state)
{
    (void)state;
    dataset *d = numbered();
    uint64_t hashes[EPOCHS * BATCHES], other[EPOCHS * BATCHES];
    loader_options o = everything(d);
    record(d, &o, hashes);
    for (o.ahead = 1; o.ahead < 10; o.ahead += 3) {
        record(d, &o, other);
        assert_memory_equal(hashes, other, sizeof hashes);
    }
    for (int i = 1; i < EPOCHS * BATCHES; i++) assert_true(hashes[i] != hashes[i - 1]);
    o.seed++;
    record(d, &o, other);
    for (int i = 0; i < EPOCHS * BATCHES; i++) assert_true(hashes[i] != other[i]);
    dataset_close(d);
}

static void resumes_in_the_middle_of_an_epoch(void **state)
{
    (void)state;
    dataset *d = numbered();
    uint64_t hashes[EPOCHS * BATCHES];
    const loader_options o = everything(d);
    record(d, &o, hashes);
    loader *l = create(d, &o);
    rng r = rng_seed(3);
    for (int turn = 0; turn < 100; turn++) {
        size_t at = rng_next(&r) % (EPOCHS * BATCHES), count = rng_next(&r) % 5;
        assert_int_equal(loader_seek(l, at / BATCHES, at % BATCHES, &error), SSM2D_OK);
        for (; count-- && at < EPOCHS * BATCHES; at++) {
            loader_batch b = next(l);
            assert_true(hash(&b) == hashes[at]);
        }
    }
    loader_destroy(l);
    dataset_close(d);
}

/* Switching on an augmentation does not change the draws of the others. */
static void augmentations_draw_independently(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 1);
    set(&o, "crop_padding", "2");
    loader *without = create(d, &o);
    set(&o, "mark", "0,9");
    loader *with = create(d, &o);
    for (int n = 0; n < EPOCHS * BATCHES; n++) {
        loader_batch a = next(without), b = next(with);
        for (size_t i = 0; i < BATCH * SIZE; i++)
            if (i % SIZE != 9) assert_true(a.images[i] == b.images[i]);
    }
    loader_destroy(without);
    loader_destroy(with);
    dataset_close(d);
}

static void running_allocates_nothing(void **state)
{
    (void)state;
    dataset *d = numbered();
    const loader_options o = everything(d);
    loader *l = create(d, &o);
    next(l);
    const long calls = meter.calls;
    for (int i = 0; i < 50; i++) next(l);
    assert_int_equal(meter.calls, calls);
    loader_destroy(l);
    dataset_close(d);
}

static dataset *shared;

static ssm2d_status create_once(void)
{
    loader *l;
    const loader_options o = everything(shared);
    ssm2d_status status = loader_create(context, shared, &o, &l, &error);
    loader_batch b;
    if (!status) status = loader_next(l, &b, &error);
    loader_destroy(l);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    shared = numbered();
    assert_true(io_fail_everywhere(create_once) >= 18);
    dataset_close(shared);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void examples_follow_the_table(void **state)
{
    (void)state;
    int count = 0;
    while (augmentation_at(count)) count++;
    assert_ptr_equal(augmentation_at(count - 4), &example_mix);
    assert_ptr_equal(augmentation_at(count - 1), &example_half);
    augmentation_extra = NULL;
    assert_null(augmentation_at(count - 4));
    assert_non_null(augmentation_at(count - 5));
    assert_null(augmentation_at(-1));
}

#define STAGE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGE(decode_sees_the_source),
        STAGE(decode_draws_for_each_image),
        STAGE(pixels_come_before_floats),
        STAGE(batches_are_mixed),
        STAGE(evaluation_is_not_augmented),
        STAGE(prefetching_changes_no_bit),
        STAGE(resumes_in_the_middle_of_an_epoch),
        STAGE(augmentations_draw_independently),
        STAGE(running_allocates_nothing),
        STAGE(survives_failing_allocations),
        STAGE(examples_follow_the_table),
    };
    return cmocka_run_group_tests_name("stages", tests, io_setup, data_end);
}
