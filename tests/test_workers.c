/* The loader with several threads and with repeated augmentation: the same bits with any number of
 * threads and from any position on, and the first failure is reported. Run with the thread
 * sanitizer as well. */
#include "data_helpers.h"

#include "data/loader.h"
#include "tasks/task.h"

enum { COUNT = 300, SIDE = 12, SIZE = SIDE * SIDE, CLASSES = 5, BATCH = 16, CHANNELS = 3 };

static dataset *numbered(void)
{
    static uint8_t bytes[16 + COUNT * SIZE], images[COUNT * SIZE], labels[COUNT];
    static const size_t sizes[] = {COUNT, SIDE, SIDE};
    rng r = rng_seed(1);
    for (int i = 0; i < COUNT; i++) {
        labels[i] = (uint8_t)(i % CLASSES);
        for (int k = 0; k < SIZE; k++)
            images[i * SIZE + k] = k > 1 ? (uint8_t)rng_next(&r) : (uint8_t)(k ? i / 256 : i);
    }
    io_put("train-images-idx3-ubyte", bytes, make_idx(bytes, 3, sizes, images));
    io_put("train-labels-idx1-ubyte", bytes, make_idx(bytes, 1, sizes, labels));
    return open_data(folder, DATASET_TRAIN);
}

/* All augmentations at once. */
static loader_options options_for(const dataset *d, int workers)
{
    static const char *const settings[][2] = {
        {"flip", "true"},     {"crop_padding", "2"},     {"autoaugment", "cifar"},
        {"randaugment", "2"}, {"resized_crop", "0.2"},   {"interpolation", "bicubic"},
        {"erasing", "0.5"},   {"erasing_fill", "pixel"}, {"mixup", "0.8"},
        {"cutmix", "1"}};
    loader_options o = loader_options_default(d);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (augment_options_set(&o.augment, settings[i][0], settings[i][1], &error))
            fail_msg("%s", error.line);
    o.train = 1;
    o.batch = BATCH;
    o.channels = CHANNELS;
    o.seed = 8;
    o.targets = task_targets(&task_classification, &(task_shape){.outputs = CLASSES}, 0.1);
    o.workers = workers;
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

static uint64_t hash(const loader_batch *b)
{
    uint64_t h = 14695981039346656037u;
    const unsigned char *bytes[] = {(const unsigned char *)b->images,
                                    (const unsigned char *)b->targets,
                                    (const unsigned char *)b->samples};
    const size_t sizes[] = {b->count * SIZE * CHANNELS * sizeof(float),
                            b->count * CLASSES * sizeof(float), b->count * sizeof *b->samples};
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < sizes[k]; i++) h = (h ^ bytes[k][i]) * 1099511628211u;
    return h;
}

enum { BATCHES = COUNT / BATCH, SEEN = 2 * BATCHES + 3 };

static void any_number_of_workers_gives_the_same(void **state)
{
    (void)state;
    dataset *d = numbered();
    uint64_t hashes[SEEN];
    for (int workers = 1; workers <= 4; workers++)
        for (int ahead = 1; ahead <= 5; ahead += 2) {
            loader_options o = options_for(d, workers);
            o.ahead = ahead;
            loader *l = create(d, &o);
            assert_int_equal(loader_batches(l), BATCHES);
            for (size_t i = 0; i < SEEN; i++) {
                const loader_batch b = next(l);
                assert_int_equal(b.epoch * BATCHES + b.index, i);
                const uint64_t found = hash(&b);
                if (workers == 1 && ahead == 1)
                    hashes[i] = found;
                else
                    assert_true(hashes[i] == found);
            }
            rng r = rng_seed(4); /* and from any position on */
            for (int turn = 0; turn < 40; turn++) {
                size_t at = rng_next(&r) % SEEN, count = rng_next(&r) % 4;
                assert_int_equal(loader_seek(l, at / BATCHES, at % BATCHES, &error), SSM2D_OK);
                for (; count-- && at < SEEN; at++) {
                    const loader_batch b = next(l);
                    assert_true(hash(&b) == hashes[at]);
                }
            }
            assert_true(loader_waited(l) >= 0);
            loader_destroy(l);
        }
    dataset_close(d);
}

static void workers_end_at_any_moment(void **state)
{
    (void)state;
    dataset *d = numbered();
    for (int turn = 0; turn < 60; turn++) {
        const loader_options o = options_for(d, 1 + turn % 4);
        loader *l = create(d, &o);
        for (int i = 0; i < turn % 5; i++) next(l);
        if (turn % 3 == 0) assert_int_equal(loader_seek(l, 1, 2, &error), SSM2D_OK);
        loader_destroy(l);
    }
    dataset_close(d);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Two files of a batch are bad, and one of the batch before: the first is reported, always. */
static void reports_the_first_failure(void **state)
{
    (void)state;
    uint8_t pixels[SIZE];
    for (int i = 0; i < SIZE; i++) pixels[i] = (uint8_t)i;
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "val/a/%02d.png", i);
        data_put_png(name, SIDE, SIDE, 1, pixels);
        if (i == 13 || i == 18 || i == 19) data_put(name, "\x89PNG no", 8);
    }
    dataset *d = open_data(folder, DATASET_TEST);
    for (int turn = 0; turn < 80; turn++) {
        loader_options o = loader_options_default(d);
        loader_batch b;
        o.rows = o.cols = SIDE;
        o.batch = 8;
        o.workers = 1 + turn % 4;
        loader *l = create(d, &o);
        next(l);
        for (int again = 0; again < 2; again++) {
            assert_int_not_equal(loader_next(l, &b, &error), SSM2D_OK);
            assert_line("13.png");
        }
        assert_int_equal(loader_seek(l, 0, 2, &error), SSM2D_OK);
        assert_int_not_equal(loader_next(l, &b, &error), SSM2D_OK);
        assert_line("18.png");
        assert_int_equal(loader_seek(l, 0, 3, &error), SSM2D_OK);
        assert_int_equal(next(l).count, 8);
        loader_destroy(l);
    }
    dataset_close(d);
}

/* ---- repeats --------------------------------------------------------------------------------- */

static int image_of(const loader_batch *b, size_t i)
{
    const float *pixels = b->images + i * SIZE;
    return (int)(pixels[0] * 255 + .5f) + 256 * (int)(pixels[1] * 255 + .5f);
}

/* An epoch without augmentation, so that images can be identified. */
static size_t epoch_of(const dataset *d, int repeats, repeat_kind kind, uint64_t epoch, int *images)
{
    loader_options o = loader_options_default(d);
    o.train = 1;
    o.batch = 4;
    o.seed = 2;
    o.workers = 2;
    o.norm = (normalisation){{0}, {1, 1, 1}};
    o.repeats = repeats;
    o.repeat_kind = kind;
    loader *l = create(d, &o);
    const size_t batches = loader_batches(l);
    assert_int_equal(loader_seek(l, epoch, 0, &error), SSM2D_OK);
    for (size_t n = 0; n < batches; n++) {
        const loader_batch b = next(l);
        assert_int_equal(b.epoch, epoch);
        for (size_t i = 0; i < 4; i++) images[4 * n + i] = image_of(&b, i);
    }
    loader_destroy(l);
    return 4 * batches;
}

static void each_pass_is_shuffled(void **state)
{
    (void)state;
    dataset *d = numbered();
    static int once[COUNT], images[3 * COUNT];
    assert_int_equal(epoch_of(d, 1, REPEAT_PASSES, 1, once), COUNT);
    assert_int_equal(epoch_of(d, 3, REPEAT_PASSES, 1, images), 3 * COUNT);
    assert_memory_equal(once, images,
                        sizeof once); /* the first pass is the epoch without repeats */
    for (int pass = 0; pass < 3; pass++) {
        int seen[COUNT] = {0};
        for (int i = 0; i < COUNT; i++) seen[images[pass * COUNT + i]]++;
        for (int i = 0; i < COUNT; i++) assert_int_equal(seen[i], 1);
    }
    assert_memory_not_equal(images, images + COUNT, sizeof once);
    assert_memory_not_equal(images + COUNT, images + 2 * COUNT, sizeof once);
    dataset_close(d);
}

/* As DeiT's in one process: an image three times in a row, 256 of 300 samples. */
static void images_are_repeated_in_a_row(void **state)
{
    (void)state;
    dataset *d = numbered();
    static int once[COUNT], images[3 * COUNT], later[3 * COUNT];
    epoch_of(d, 1, REPEAT_IMAGES, 1, once);
    assert_int_equal(epoch_of(d, 3, REPEAT_IMAGES, 1, images), 256);
    for (int i = 0; i < 256; i++) assert_int_equal(images[i], once[i / 3]);
    epoch_of(d, 3, REPEAT_IMAGES, 2, later);
    assert_memory_not_equal(images, later, 256 * sizeof(int));
    dataset_close(d);
}

/* Each repeat of an image is augmented differently; the first as without repeats. */
static void repeats_are_augmented_differently(void **state)
{
    (void)state;
    dataset *d = numbered();
    for (int kind = 0; kind < 2; kind++) {
        loader_options o = loader_options_default(d);
        assert_int_equal(augment_options_set(&o.augment, "crop_padding", "6", &error), SSM2D_OK);
        o.train = 1;
        o.batch = kind == REPEAT_IMAGES ? 3 : COUNT;
        o.seed = 2;
        loader *plain = create(d, &o);
        const size_t size = SIZE * sizeof(float);
        o.repeats = 3;
        o.repeat_kind = (repeat_kind)kind;
        loader *l = create(d, &o);
        int same = 0;
        if (kind == REPEAT_IMAGES) {
            const loader_batch p = next(plain);
            for (int n = 0; n < 60; n++) {
                const loader_batch b = next(l);
                if (!n) assert_memory_equal(b.images, p.images, size);
                same += !memcmp(b.images, b.images + SIZE, size);
                same += !memcmp(b.images, b.images + 2 * SIZE, size);
            }
            assert_true(same < 10); /* of 120; two crops are equal once in 169 times */
        } else {
            const loader_batch p = next(plain), b = next(l);
            assert_memory_equal(b.images, p.images, COUNT * size);
        }
        loader_destroy(plain);
        loader_destroy(l);
    }
    dataset_close(d);
}

static void invalid_counts_are_refused(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader *l;
    const loader_options good = options_for(d, 1);
    loader_options o = good;
#define REFUSED(line)                                                                              \
    assert_int_equal(loader_create(context, d, &o, &l, &error), SSM2D_ERROR_ARGUMENT);             \
    assert_line(line);                                                                             \
    assert_null(l);                                                                                \
    o = good
    o.workers = 0;
    REFUSED("workers=0: use 1 to 64");
    o.workers = 65;
    REFUSED("workers=65: use 1 to 64");
    o.repeats = 0;
    REFUSED("repeats=0: use 1 to 100");
    o.repeats = 2;
    o.batch = 2 * COUNT + 1;
    REFUSED("batch=601");
    dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(any_number_of_workers_gives_the_same),
                                       TEST(workers_end_at_any_moment),
                                       TEST(reports_the_first_failure),
                                       TEST(each_pass_is_shuffled),
                                       TEST(images_are_repeated_in_a_row),
                                       TEST(repeats_are_augmented_differently),
                                       TEST(invalid_counts_are_refused)};
    return cmocka_run_group_tests_name("workers", tests, io_setup, data_end);
}
