/* The loader: the order of images, that it depends on (seed, epoch) only, that it can start at any
 * position, and that its thread ends cleanly. Run with the thread sanitizer as well. */
#include "data_helpers.h"

#include "data/loader.h"
#include "tasks/task.h"

#include <time.h>

enum { COUNT = 103, SIDE = 4, SIZE = SIDE * SIDE };

/* The first pixel of image i is i, and its label i % 7. */
static dataset *numbered(void)
{
    static uint8_t bytes[16 + COUNT * SIZE], images[COUNT * SIZE], labels[COUNT];
    static const size_t sizes[] = {COUNT, SIDE, SIDE};
    for (int i = 0; i < COUNT; i++) {
        labels[i] = (uint8_t)(i % 7);
        for (int k = 0; k < SIZE; k++) images[i * SIZE + k] = (uint8_t)(k ? i * k : i);
    }
    io_put("train-images-idx3-ubyte", bytes, make_idx(bytes, 3, sizes, images));
    io_put("train-labels-idx1-ubyte", bytes, make_idx(bytes, 1, sizes, labels));
    return open_data(folder, DATASET_TRAIN);
}

static loader_options options_for(const dataset *d, int train, size_t batch)
{
    loader_options o = loader_options_default(d);
    o.train = train;
    o.batch = batch;
    o.seed = 5;
    o.norm = (normalisation){{0}, {1, 1, 1}};
    if (augment_options_set(&o.augment, "flip", "true", &error)
        || augment_options_set(&o.augment, "crop_padding", "4", &error))
        fail_msg("%s", error.line);
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

/* FNV-1a over bytes, from h on. */
static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return h;
}

/* Hash of images and labels. */
static uint64_t hash(const loader_batch *b)
{
    uint64_t h = hash_bytes(14695981039346656037u, b->images, b->count * SIZE * sizeof(float));
    for (size_t i = 0; i < b->count; i++) {
        const int label = largest_index(b->targets + i * 7, 7);
        h = hash_bytes(h, &label, sizeof label);
    }
    return h;
}

static int number_of(const loader_batch *b, size_t i)
{
    return (int)(b->images[i * SIZE] * 255 + .5f);
}

static void evaluates_in_order(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 0, 10);
    loader *l = create(d, &o);
    assert_int_equal(loader_batches(l), 11);
    for (size_t epoch = 0; epoch < 3; epoch++)
        for (size_t n = 0; n < 11; n++) {
            loader_batch b = next(l);
            assert_int_equal(b.epoch, epoch);
            assert_int_equal(b.index, n);
            assert_int_equal(b.count, n == 10 ? 3 : 10);
            for (size_t i = 0; i < b.count; i++) {
                assert_int_equal(number_of(&b, i), n * 10 + i);
                assert_int_equal(largest_index(b.targets + i * 7, 7), (n * 10 + i) % 7);
                for (size_t k = 1; k < SIZE; k++)
                    assert_true(b.images[i * SIZE + k] == (float)(uint8_t)((n * 10 + i) * k) / 255);
            }
        }
    loader_destroy(l);
    o.batch = 500; /* larger than the data set */
    l = create(d, &o);
    assert_int_equal(loader_batches(l), 1);
    assert_int_equal(next(l).count, COUNT);
    loader_destroy(l);
    dataset_close(d);
}

/* The order of one epoch, without augmentation, so that images can be identified. */
static void order_of(const dataset *d, uint64_t seed, uint64_t epoch, size_t batch, int *order)
{
    loader_options o = options_for(d, 1, batch);
    o.seed = seed;
    o.augment = augment_options_default();
    loader *l = create(d, &o);
    assert_int_equal(loader_batches(l), COUNT / batch);
    assert_int_equal(loader_seek(l, epoch, 0, &error), SSM2D_OK);
    for (size_t n = 0; n < COUNT / batch; n++) {
        loader_batch b = next(l);
        assert_int_equal(b.count, batch);
        assert_int_equal(b.epoch, epoch);
        assert_int_equal(b.index, n);
        for (size_t i = 0; i < batch; i++) {
            order[n * batch + i] = number_of(&b, i);
            assert_int_equal(largest_index(b.targets + i * 7, 7), number_of(&b, i) % 7);
        }
    }
    loader_destroy(l);
}

static void trains_in_shuffled_order(void **state)
{
    (void)state;
    dataset *d = numbered();
    int first[COUNT], order[COUNT], seen[COUNT] = {0}, places[COUNT] = {0};
    order_of(d, 5, 0, 1, first);
    for (int i = 0; i < COUNT; i++) seen[first[i]]++;
    for (int i = 0; i < COUNT; i++) assert_int_equal(seen[i], 1);
    order_of(d, 5, 0, 10, order); /* whatever the batch */
    assert_memory_equal(order, first, 100 * sizeof(int));
    order_of(d, 5, 1, 1, order);
    assert_memory_not_equal(order, first, sizeof first);
    order_of(d, 6, 0, 1, order);
    assert_memory_not_equal(order, first, sizeof first);
    /* every image occurs everywhere: means over many epochs are near the middle */
    for (uint64_t epoch = 0; epoch < 60; epoch++) {
        order_of(d, 9, epoch, 1, order);
        for (int i = 0; i < COUNT; i++) places[order[i]] += i;
    }
    /* 5 standard deviations */
    for (int i = 0; i < COUNT; i++) assert_in_range(places[i] / 60, 51 - 20, 51 + 20);
    dataset_close(d);
}

enum { EPOCHS = 3, BATCH = 16, BATCHES = COUNT / BATCH };

/* The hash of every batch of some epochs. */
static void record(const dataset *d, int ahead, uint64_t hashes[EPOCHS * BATCHES])
{
    loader_options o = options_for(d, 1, BATCH);
    o.ahead = ahead;
    loader *l = create(d, &o);
    for (int i = 0; i < EPOCHS * BATCHES; i++) {
        loader_batch b = next(l);
        assert_int_equal(b.epoch * BATCHES + b.index, i);
        hashes[i] = hash(&b);
    }
    loader_destroy(l);
}

static void batches_repeat_to_the_bit(void **state)
{
    (void)state;
    dataset *d = numbered();
    uint64_t hashes[EPOCHS * BATCHES], again[EPOCHS * BATCHES];
    record(d, 2, hashes);
    record(d, 1, again);
    assert_memory_equal(hashes, again, sizeof hashes);
    record(d, 7, again);
    assert_memory_equal(hashes, again, sizeof hashes);
    for (int i = 1; i < EPOCHS * BATCHES; i++) assert_true(hashes[i] != hashes[i - 1]);
    dataset_close(d);
}

/* The batches themselves, so that a later version can repeat a run. */
static void batches_have_stored_hashes(void **state)
{
    (void)state;
    dataset *d = numbered();
    uint64_t hashes[EPOCHS * BATCHES];
    record(d, 2, hashes);
    assert_true(hashes[0] == 0xcfc30168adb41044u);
    assert_true(hashes[EPOCHS * BATCHES - 1] == 0xec389942b4ee2009u);
    dataset_close(d);
}

static void loader_resumes_at_any_position(void **state)
{
    (void)state;
    dataset *d = numbered();
    uint64_t hashes[EPOCHS * BATCHES];
    record(d, 2, hashes);
    loader_options o = options_for(d, 1, BATCH);
    loader *l = create(d, &o), *fresh;
    rng r = rng_seed(3);
    for (int turn = 0; turn < 200; turn++) {
        size_t at = rng_next(&r) % (EPOCHS * BATCHES), count = rng_next(&r) % 5;
        assert_int_equal(loader_seek(l, at / BATCHES, at % BATCHES, &error), SSM2D_OK);
        for (; count-- && at < EPOCHS * BATCHES; at++) {
            loader_batch b = next(l);
            assert_true(hash(&b) == hashes[at]);
        }
    }
    /* the end of an epoch is the start of the next */
    assert_int_equal(loader_seek(l, 0, BATCHES, &error), SSM2D_OK);
    loader_batch b = next(l);
    assert_int_equal(b.epoch, 1);
    assert_true(hash(&b) == hashes[BATCHES]);
    assert_int_equal(loader_seek(l, 0, BATCHES + 1, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("batch 7 of an epoch of 6 batches");
    b = next(l); /* as if there had been no request */
    assert_true(hash(&b) == hashes[BATCHES + 1]);
    for (size_t at = 0; at < EPOCHS * BATCHES; at++) {
        fresh = create(d, &o);
        assert_int_equal(loader_seek(fresh, at / BATCHES, at % BATCHES, &error), SSM2D_OK);
        b = next(fresh);
        assert_true(hash(&b) == hashes[at]);
        loader_destroy(fresh);
    }
    loader_destroy(l);
    dataset_close(d);
}

/* A batch does not change while the caller uses it, however far ahead the thread is. */
static void current_batch_does_not_change(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 1, BATCH);
    loader *l = create(d, &o);
    for (int i = 0; i < 20; i++) {
        loader_batch b = next(l);
        uint64_t before = hash(&b);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        assert_true(hash(&b) == before);
    }
    loader_destroy(l);
    dataset_close(d);
}

static void running_allocates_nothing(void **state)
{
    (void)state;
    dataset *d = numbered();
    for (int train = 0; train < 2; train++)
        for (int other_size = 0; other_size < 2; other_size++) {
            loader_options o = options_for(d, train, BATCH);
            if (other_size) o.rows = 6, o.cols = 3, o.channels = 3;
            loader *l = create(d, &o);
            next(l);
            long calls = meter.calls;
            for (int i = 0; i < 50; i++) next(l);
            assert_int_equal(loader_seek(l, 1, 1, &error), SSM2D_OK);
            next(l);
            assert_int_equal(meter.calls, calls);
            loader_destroy(l);
        }
    dataset_close(d);
}

static void resizes_and_adds_channels(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 0, 8);
    o.rows = 7;
    o.cols = 9;
    o.channels = 3;
    loader *l = create(d, &o);
    loader_batch b = next(l);
    uint8_t expected[7 * 9 * 3];
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(fetch_as(d, i, 7, 9, 3, expected), SSM2D_OK);
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 63; k++)
                assert_true(b.images[(i * 3 + c) * 63 + k] == (float)expected[3 * k + c] / 255);
    }
    loader_destroy(l);
    dataset_close(d);
}

static void put_picture(int number, int good)
{
    char name[64];
    uint8_t pixels[SIZE];
    memset(pixels, number, sizeof pixels);
    snprintf(name, sizeof name, "train/c/%03d.png", number);
    data_put_png(name, SIDE, SIDE, 1, pixels);
    if (!good) io_put(name, "\x89PNG", 4);
}

/* The batches before a bad file are good; then every call returns its error, until the caller moves
 * to another position. */
static void reports_what_cannot_be_read(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) put_picture(i, i != 17);
    dataset *d = open_data(folder, DATASET_TRAIN);
    loader_options o = options_for(d, 0, 5);
    loader_batch b;
    o.rows = o.cols = SIDE;
    o.channels = 1;
    loader *l = create(d, &o);
    for (int n = 0; n < 3; n++) {
        b = next(l);
        for (int i = 0; i < 5; i++) assert_int_equal(number_of(&b, (size_t)i), 5 * n + i);
    }
    for (int turn = 0; turn < 3; turn++) {
        error.line[0] = 0;
        assert_int_not_equal(loader_next(l, &b, &error), SSM2D_OK);
        assert_line("/train/c/017.png: ");
    }
    assert_int_not_equal(loader_next(l, &b, NULL), SSM2D_OK);
    assert_int_equal(loader_seek(l, 0, 4, &error), SSM2D_OK);
    b = next(l);
    assert_int_equal(number_of(&b, 0), 20);
    put_picture(17, 1);
    assert_int_equal(loader_seek(l, 0, 3, &error), SSM2D_OK);
    b = next(l);
    assert_int_equal(number_of(&b, 2), 17);
    unlink(io_path("train/c/003.png"));
    assert_int_equal(loader_seek(l, 0, 0, &error), SSM2D_OK);
    assert_int_equal(loader_next(l, &b, &error), SSM2D_ERROR_SYSTEM);
    assert_line("/train/c/003.png: cannot be opened: No such file");
    loader_destroy(l); /* with a failure pending */
    dataset_close(d);
}

static void stops_at_any_moment(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 1, BATCH);
    for (int turn = 0; turn < 100; turn++) {
        o.ahead = 1 + turn % 4;
        loader *l = create(d, &o);
        for (int i = 0; i < turn % 7; i++) next(l);
        if (turn % 3 == 0) loader_seek(l, 1, 2, &error);
        if (turn % 5 == 0) nanosleep(&(struct timespec){0, 100000}, NULL);
        loader_destroy(l);
    }
    dataset_close(d);
}

static void invalid_options_are_refused(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader *l;
    loader_options good = options_for(d, 1, 10), o = good;
#define REFUSED(line)                                                                              \
    assert_int_equal(loader_create(context, d, &o, &l, &error), SSM2D_ERROR_ARGUMENT);             \
    assert_line(line);                                                                             \
    assert_null(l);                                                                                \
    o = good
    o.batch = 0;
    REFUSED("batch=0: use 1 or more");
    o.batch = COUNT + 1;
    REFUSED("batch=104: an epoch has only 103 images");
    o.rows = 0;
    REFUSED("images of 0 x 4 x 1");
    o.ahead = 0;
    REFUSED("ahead=0: use 1 to 64");
    memset(o.augment.bytes, 0xff, sizeof o.augment.bytes);
    REFUSED("flip=-1: use true or false");
    o.norm.std[0] = -1;
    REFUSED("std=-1");
    dataset_close(d);
}

static dataset *shared;

static ssm2d_status create_once(void)
{
    loader *l;
    loader_options o = options_for(shared, 1, 10);
    o.rows = o.cols = SIDE;
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
    assert_true(io_fail_everywhere(create_once) >= 12);
    dataset_close(shared);
    data_empty(folder);
    for (int i = 0; i < 10; i++) put_picture(i, 1);
    shared = open_data(folder, DATASET_TRAIN); /* here the thread allocates as well */
    meter.fail_at = -1;
    long before = meter.live;
    for (long n = 0; n < 60; n++) {
        meter.calls = 0;
        meter.fail_at = n;
        error.line[0] = 0;
        ssm2d_status status = create_once();
        meter.fail_at = -1;
        assert_int_equal(meter.live, before);
        if (status) {
            assert_int_equal(status, SSM2D_ERROR_MEMORY);
            assert_line("out of memory: ");
        } else
            assert_true(n > 12);
    }
    dataset_close(shared);
}

/* Several loaders that share batches give together what one gives: each its part of every training
 * batch, mixed with images of the others' parts; in evaluation whole batches in turn. */
static void shares_training(void **state)
{
    enum { WHOLE = 12, SHARES = 3, OWN = WHOLE / SHARES };
    static const char *const mixes[][2] = {{"mixup", "0"}, {"mixup", "0.8"}, {"cutmix", "1"}};
    (void)state;
    dataset *d = numbered();
    for (size_t m = 0; m < sizeof mixes / sizeof *mixes; m++) {
        loader_options o = options_for(d, 1, WHOLE);
        if (augment_options_set(&o.augment, mixes[m][0], mixes[m][1], &error))
            fail_msg("%s", error.line);
        loader *whole = create(d, &o), *parts[SHARES];
        o.shares = SHARES;
        for (o.share = 0; o.share < SHARES; o.share++) parts[o.share] = create(d, &o);
        const size_t classes = (size_t)dataset_about(d)->label_count;
        for (int b = 0; b < 20; b++) {
            const loader_batch all = next(whole);
            for (size_t i = 0; i < SHARES; i++) {
                const loader_batch part = next(parts[i]);
                assert_int_equal(part.count, WHOLE);
                assert_memory_equal(part.images + i * OWN * SIZE, all.images + i * OWN * SIZE,
                                    OWN * SIZE * sizeof(float));
                assert_memory_equal(part.targets + i * OWN * classes,
                                    all.targets + i * OWN * classes, OWN * classes * sizeof(float));
                /* images that are not mixed in were not read: their memory is unchanged */
                for (size_t k = 0; !m && k < WHOLE * SIZE; k++)
                    if (k / SIZE / OWN != i) assert_true(!(part.images[k] > 0));
            }
        }
        loader_destroy(whole);
        for (int i = 0; i < SHARES; i++) loader_destroy(parts[i]);
    }
    loader_options o = options_for(d, 1, WHOLE);
    loader *none;
    o.shares = 5;
    assert_int_equal(loader_create(context, d, &o, &none, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("batch=12: cannot be shared by 5 processes");
    dataset_close(d);
}

static void shares_evaluation(void **state)
{
    (void)state;
    dataset *d = numbered();
    loader_options o = options_for(d, 0, 12);
    loader *whole = create(d, &o), *idle;
    o.shares = 2;
    loader *even = create(d, &o);
    o.share = 1;
    loader *odd = create(d, &o);
    for (size_t b = 0; b < 2 * loader_batches(whole); b++) {
        const size_t number = b % loader_batches(whole);
        const loader_batch all = next(whole), part = next(number % 2 ? odd : even);
        assert_int_equal(part.index, number);
        assert_int_equal(hash(&part), hash(&all));
    }
    /* there are fewer batches than loaders: this one has none, and does not wait for others */
    o.share = 20;
    o.shares = 21;
    idle = create(d, &o);
    loader_destroy(idle);
    loader_destroy(whole);
    loader_destroy(even);
    loader_destroy(odd);
    dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(evaluates_in_order),
        TEST(trains_in_shuffled_order),
        TEST(batches_repeat_to_the_bit),
        TEST(loader_resumes_at_any_position),
        TEST(batches_have_stored_hashes),
        TEST(current_batch_does_not_change),
        TEST(running_allocates_nothing),
        TEST(resizes_and_adds_channels),
        TEST(reports_what_cannot_be_read),
        TEST(stops_at_any_moment),
        TEST(invalid_options_are_refused),
        TEST(survives_failing_allocations),
        TEST(shares_training),
        TEST(shares_evaluation),
    };
    return cmocka_run_group_tests_name("loader", tests, io_setup, data_end);
}
