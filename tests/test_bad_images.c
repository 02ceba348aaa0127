/* Skipping of images that cannot be read: training uses others instead, the same ones on any number
 * of threads, evaluation leaves them out, and both count them. */
#include "data_helpers.h"

#include "data/file_check.h"
#include "data/loader.h"
#include "tasks/task.h"

#include <unistd.h>

enum { IMAGES = 40, SIDE = 2, BATCH = 6, SIZE = SIDE * SIDE };

static int is_bad(int i) { return i % 7 == 3; } /* 3, 10, 17, 24, 31, 38 */
enum { BAD = 6 };

/* Image i of class i % 2 is of brightness 3 * i. */
static dataset *make_folder(void)
{
    for (int i = 0; i < IMAGES; i++) {
        char name[64];
        uint8_t pixels[SIZE];
        memset(pixels, 3 * i, sizeof pixels);
        snprintf(name, sizeof name, "train/%c/%02d.png", 'a' + i % 2, i);
        data_put_png(name, SIDE, SIDE, 1, pixels);
        if (is_bad(i)) io_put(name, "\x89PNG", i % 2 ? 4 : 0);
    }
    return open_data(folder, DATASET_TRAIN);
}

static loader *create(const dataset *d, int train, int workers, int skip)
{
    loader_options o = loader_options_default(d);
    loader *l;
    o.rows = o.cols = SIDE;
    o.channels = 1;
    o.norm = (normalisation){{0}, {1, 1, 1}};
    o.batch = BATCH;
    o.train = train;
    o.workers = workers;
    o.skip_bad = skip;
    o.seed = 4;
    if (loader_create(context, d, &o, &l, &error)) fail_msg("%s", error.line);
    return l;
}

/* The index of the image at position i of a batch. */
static int image_at(const loader_batch *b, size_t i)
{
    return (int)(b->images[i * SIZE] * 255 / 3 + .5f);
}

static void evaluation_leaves_out_bad_images(void **state)
{
    (void)state;
    dataset *d = make_folder();
    for (int workers = 1; workers <= 3; workers++) {
        loader *l = create(d, 0, workers, 1);
        loader_batch b;
        int seen[IMAGES] = {0}, total = 0;
        for (size_t n = 0; n < loader_batches(l); n++) {
            if (loader_next(l, &b, &error)) fail_msg("%s", error.line);
            for (size_t i = 0; i < b.count; i++) {
                const int image = image_at(&b, i);
                char path[256], name[16];
                snprintf(name, sizeof name, "/%02d.png", image);
                assert_true(dataset_file(d, b.samples[i].image, path, sizeof path));
                if (!strstr(path, name)) fail_msg("image %d is said to be %s", image, path);
                assert_int_equal(largest_index(b.targets + i * 2, 2), image % 2);
                assert_true(b.targets[2 * i + (size_t)(image % 2)] > .5f);
                seen[image]++;
                total++;
            }
        }
        assert_int_equal(total, IMAGES - BAD);
        for (int i = 0; i < IMAGES; i++) assert_int_equal(seen[i], !is_bad(i));
        ssm2d_error why;
        assert_int_equal(loader_skipped(l, &why), BAD);
        /* of class a, whose images come first, 10 is the first of the bad ones */
        if (!strstr(why.line, "/train/a/10.png: is empty")) fail_msg("%s", why.line);
        loader_destroy(l);
    }
    dataset_close(d);
}

static void training_replaces_bad_images(void **state)
{
    (void)state;
    enum { EPOCHS = 5, PLACES = EPOCHS * (IMAGES / BATCH) * BATCH };
    int order[2][PLACES];
    dataset *d = make_folder();
    for (int turn = 0; turn < 2; turn++) {
        loader *l = create(d, 1, turn ? 3 : 1, 1);
        size_t at = 0;
        for (size_t n = 0; n < EPOCHS * loader_batches(l); n++) {
            loader_batch b;
            if (loader_next(l, &b, &error)) fail_msg("%s", error.line);
            assert_int_equal(b.count, BATCH);
            for (size_t i = 0; i < BATCH; i++) {
                const int image = order[turn][at++] = image_at(&b, i);
                assert_false(is_bad(image));
                assert_int_equal(largest_index(b.targets + i * 2, 2), image % 2);
            }
        }
        ssm2d_error why;
        assert_int_equal(loader_skipped(l, &why), BAD);
        /* from the middle on it is the same as from the start */
        assert_int_equal(loader_seek(l, 2, 1, &error), SSM2D_OK);
        loader_batch b;
        if (loader_next(l, &b, &error)) fail_msg("%s", error.line);
        for (size_t i = 0; i < BATCH; i++)
            assert_int_equal(image_at(&b, i), order[turn][(2 * loader_batches(l) + 1) * BATCH + i]);
        loader_destroy(l);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
    dataset_close(d);
}

static void bad_images_are_errors_when_not_skipped(void **state)
{
    (void)state;
    dataset *d = make_folder();
    loader *l = create(d, 0, 2, 0);
    ssm2d_status status = SSM2D_OK;
    loader_batch b;
    for (size_t n = 0; n < loader_batches(l) && !status; n++) status = loader_next(l, &b, &error);
    assert_int_equal(status, SSM2D_ERROR_ARGUMENT);
    assert_line("/train/a/10.png: is empty");
    loader_destroy(l);
    dataset_close(d);
}

static void gives_up_when_all_are_bad(void **state)
{
    (void)state;
    dataset *d = make_folder();
    for (int i = 0; i < IMAGES; i++) {
        char name[64];
        snprintf(name, sizeof name, "train/%c/%02d.png", 'a' + i % 2, i);
        io_put(name, "", 0);
    }
    loader *l = create(d, 1, 1, 1);
    loader_batch b;
    assert_int_equal(loader_next(l, &b, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("is empty");
    loader_destroy(l);
    l = create(d, 0, 1, 1);
    assert_int_equal(loader_next(l, &b, &error), SSM2D_OK);
    assert_int_equal(b.count, 0);
    loader_destroy(l);
    dataset_close(d);
}

static void quick_check_reads_some_images(void **state)
{
    (void)state;
    size_t looked, bad;
    dataset *d = make_folder();
    file_check_some(d, 1000, 0, &looked, &bad, &error);
    assert_int_equal(looked, IMAGES);
    assert_int_equal(bad, BAD);
    assert_line("/train/a/10.png: is empty");
    file_check_some(d, 3, 0, &looked, &bad, &error);
    assert_int_equal(looked, 3);
    file_check_some(d, IMAGES, 3, &looked, &bad, &error);
    assert_int_equal(bad, IMAGES);
    assert_line("more than the 3 that max-pixels allows");
    dataset_close(d);
}

static int stop_at_once(void *user)
{
    ++*(int *)user;
    return 1;
}

/* Every file is decoded, also those with a good header; good ones are remembered, and the parts
 * together cover all. */
static void full_check_decodes_all_images(void **state)
{
    (void)state;
    dataset *d = make_folder();
    char path[512], list[512];
    snprintf(list, sizeof list, "%s", io_path("list"));
    assert_true(dataset_file(d, 0, path, sizeof path));
    assert_int_equal(truncate(path, 60), 0); /* within the pixels */
    for (int threads = 1; threads <= 3; threads++) {
        ssm2d_context_options o = ssm2d_context_options_default();
        ssm2d_context *several;
        o.threads = threads;
        assert_int_equal(ssm2d_context_create(&o, &several, &error), SSM2D_OK);
        checked_files checked = checked_files_read(several, threads > 1 ? list : NULL);
        assert_int_equal(checked.count, threads > 1 ? IMAGES - BAD - 1 : 0);
        file_check all = {0};
        const file_check_hooks hooks = {.checked = &checked};
        assert_int_equal(file_check_all(several, d, 0, &hooks, &all, &error), SSM2D_OK);
        assert_int_equal(all.files, IMAGES);
        assert_int_equal(all.bad, BAD + 1);
        if (!strstr(all.first[0].line, "/train/a/00.png: ends ")) fail_msg("%s", all.first[0].line);
        assert_non_null(strstr(all.first[1].line, "/train/a/10.png: is empty"));
        assert_int_equal(checked.count, IMAGES - BAD - 1);
        if (threads == 1) assert_true(checked_files_write(&checked, list));
        assert_false(checked_files_write(&checked, list)); /* nothing is new */
        checked_files_free(&checked);
        ssm2d_context_destroy(several);
    }
    file_check shared = {0};
    for (size_t i = 0; i < 3; i++) {
        const file_check_hooks hooks = {.share = i, .shares = 3};
        assert_int_equal(file_check_all(context, d, 0, &hooks, &shared, &error), SSM2D_OK);
    }
    assert_int_equal(shared.files, IMAGES);
    assert_int_equal(shared.bad, BAD + 1);
    int asked = 0;
    const file_check_hooks stopping = {.user = &asked, .stop = stop_at_once};
    assert_int_equal(file_check_all(context, d, 0, &stopping, &shared, &error), SSM2D_OK);
    assert_true(shared.stopped && asked == 1);
    dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(evaluation_leaves_out_bad_images),       TEST(training_replaces_bad_images),
        TEST(bad_images_are_errors_when_not_skipped), TEST(gives_up_when_all_are_bad),
        TEST(quick_check_reads_some_images),          TEST(full_check_decodes_all_images),
    };
    return cmocka_run_group_tests_name("bad_images", tests, io_setup, data_end);
}
