/* Runs with missing, damaged or non-finite data, or a full disk: a clear one-line error, and
 * nothing leaks. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "io/safetensors.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void test_loss_that_is_not_finite_ends_the_run(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    train_settings s = tiny();
    train_result result;
    s.options.lr = 1e20;
    s.options.clip = 0;
    s.options.ema = 0;
    assert_int_not_equal(train_begin(context, path_of("run"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("is not finite");
    assert_line("step ");
    assert_line("last.safetensors");
    assert_line("Last good checkpoint");
    ssm2d_context_destroy(context);
}

/* Moments that overflow while weights and gradients do not: a checkpoint with them could not be
 * read, and the last good one stays. */
static void test_moments_that_overflow_keep_last_checkpoint(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    run_model m;
    char path[RUN_PATH];
    s.options.epochs = 1;
    if (train_begin(context, path_of("one"), &s, NULL, &result, &error)
        || run_model_open(context, path_of("one"), RUN_MODEL, NULL, &m, &error))
        fail_msg("%s", error.line);
    const param_array *head = weights_find(m.weights, "head.weight");
    float *params = malloc(m.weights->total * sizeof *params);
    memcpy(params, m.params, m.weights->total * sizeof *params);
    for (size_t i = 0; i < head->count; i++) params[head->offset + i] *= 2e21f;
    snprintf(path, sizeof path, "%s", path_of("big.safetensors"));
    if (weights_save(m.weights, path, params, &error)) fail_msg("%s", error.line);
    free(params);
    run_model_close(&m);
    s.options.clip = 0;
    if (train_settings_set(&s, "test", "start", path, &error)) fail_msg("%s", error.line);
    assert_int_not_equal(train_begin(context, path_of("run"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("the array moment2 is not finite. Last good checkpoint");
    /* it can be read, and gives the same result */
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("the array moment2 is not finite. Last good checkpoint");
    ssm2d_context_destroy(context);
}

static void remove_later(void *user, const train_progress *p)
{
    (void)user;
    if (p->step == 2) {
        char path[RUN_PATH];
        snprintf(path, sizeof path, "%s", path_of("data/t10k-images-idx3-ubyte"));
        remove(path);
    }
}

static void test_changed_or_missing_data_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    stopper stop = {3, 0};
    run_control hooks = {.user = &stop, .stop = stop_at, .step = remove_later};
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    assert_int_equal(result.stopped, 1);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("t10k-images-idx3-ubyte");
    /* others than before */
    assert_true(small_data(path_of("data"), TRAIN + 1, TEST));
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("not those the run began with");
    assert_true(small_data(path_of("data"), TRAIN, TEST));
    assert_int_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
}

/* Rewrites a checkpoint, check sums and all, with other counters. */
static void forge(ssm2d_context *context, const char *path, long epochs, long step)
{
    safetensors *file;
    checkpoint *c;
    train_identity who;
    assert_int_equal(safetensors_open(context, path, &file, &error), SSM2D_OK);
    train_state s = {.count = safetensors_find(file, "weights")->count};
    float *arrays = calloc(4 * s.count, sizeof *arrays);
    assert_non_null(arrays);
    s.arrays =
        (train_arrays){.optimizer = optimizer_at(0),
                       .weights = arrays,
                       .optimizer_arrays = {arrays + s.count, arrays + 2 * s.count},
                       .average = safetensors_find(file, "average") ? arrays + 3 * s.count : NULL};
    safetensors_close(file);
    assert_int_equal(checkpoint_open(context, path, &c, &who, &error), SSM2D_OK);
    assert_int_equal(checkpoint_read(c, &s, &error), SSM2D_OK);
    s.epochs = epochs;
    s.step = step;
    assert_int_equal(checkpoint_write(context, path, &s, &who, &error), SSM2D_OK);
    checkpoint_close(c);
    free(arrays);
}

/* Impossible counters are refused before anything is computed from them. */
static void test_impossible_counters_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    stopper stop = {3, 0};
    const run_control hooks = {.user = &stop, .stop = stop_at};
    char path[RUN_PATH];
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    snprintf(path, sizeof path, "%s", path_of("run/last.safetensors"));
    forge(context, path, LONG_MAX, 3);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("already");
    forge(context, path, 0, LONG_MAX);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("the file was changed");
    ssm2d_context_destroy(context);
}

static void test_other_class_names_are_refused(void **state)
{
    (void)state;
    const char *names[] = {"cat", "dog"};
    const char *const same[] = {"cat", "dog"}, *const others[] = {"cat", "cow"},
                      *const digits[] = {"0", "1"};
    const run_data data = {.task = &task_classification, .outputs = 2, .names = names};
    assert_int_equal(
        run_data_matches(&data, &(dataset_info){.label_count = 2, .label_names = same}, &error),
        SSM2D_OK);
    assert_int_equal(
        run_data_matches(&data, &(dataset_info){.label_count = 2, .label_names = digits}, &error),
        SSM2D_OK);
    assert_int_not_equal(
        run_data_matches(&data, &(dataset_info){.label_count = 2, .label_names = others}, &error),
        SSM2D_OK);
    assert_line("class 1 of the data is cow, but of the model dog");
    assert_int_not_equal(
        run_data_matches(&data, &(dataset_info){.label_count = 1, .label_names = same}, &error),
        SSM2D_OK);
    assert_line("the data have 1 classes, but the model has 2");
}

/* Classes with identifiers are compared by these or by their names: runs of earlier versions, and
 * folders of images, have identifiers as names. */
static void test_class_identifiers_match_names_of_older_runs(void **state)
{
    (void)state;
    const char *names[] = {"cat", "dog"}, *ids[] = {"n1", "n2"}, *other_ids[] = {"n1", "n3"};
    const char *others[] = {"tom", "rex"};
    const run_data with_ids = {
        .task = &task_classification, .outputs = 2, .names = names, .ids = ids};
    const run_data old = {.task = &task_classification, .outputs = 2, .names = ids};
    const dataset_info now = {.label_count = 2, .label_names = names, .label_ids = ids};
    const dataset_info a_folder = {.label_count = 2, .label_names = ids};
    const dataset_info renamed = {.label_count = 2, .label_names = others, .label_ids = ids};
    const dataset_info changed = {.label_count = 2, .label_names = others, .label_ids = other_ids};
    assert_int_equal(run_data_matches(&with_ids, &now, &error), SSM2D_OK);
    assert_int_equal(run_data_matches(&with_ids, &a_folder, &error), SSM2D_OK);
    assert_int_equal(run_data_matches(&with_ids, &renamed, &error), SSM2D_OK);
    assert_int_equal(run_data_matches(&old, &now, &error), SSM2D_OK);
    assert_int_not_equal(run_data_matches(&with_ids, &changed, &error), SSM2D_OK);
    assert_line("class 1 of the data is rex, but of the model dog");
}

static void test_bad_folders_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    char path[RUN_PATH];
    assert_int_not_equal(train_resume(context, path_of("none"), NULL, &result, &error), SSM2D_OK);
    assert_line("is not the folder of a run");
    assert_int_not_equal(
        train_begin(context, path_of("data/t10k-images-idx3-ubyte"), &s, NULL, &result, &error),
        SSM2D_OK);
    assert_line("is a file, not a folder");
    train(path_of("run"), 1);
    assert_int_equal(run_path(path_of("run"), RUN_LAST, path, &error), SSM2D_OK);
    assert_int_equal(truncate(path, 4000), 0);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("last.safetensors");
    assert_int_equal(remove(path), 0);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("last.safetensors");
    ssm2d_context_destroy(context);
}

static void test_full_disk_keeps_the_run_resumable(void **state)
{
    (void)state;
    train(path_of("whole"), 1);
    ending e = load(path_of("whole"));
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    struct rlimit was, small;
    stopper stop = {4, 0};
    run_control hooks = {.user = &stop, .stop = stop_at};
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t max_size = 64; max_size < 30000; max_size = max_size * 3) {
        small = was;
        small.rlim_cur = max_size;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        ssm2d_status status = train_resume(context, path_of("run"), NULL, &result, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        assert_int_equal(status, SSM2D_ERROR_SYSTEM);
        assert_line("cannot be written");
    }
    signal(SIGXFSZ, SIG_DFL);
    if (train_resume(context, path_of("run"), NULL, &result, &error)) fail_msg("%s", error.line);
    assert_same(&e, path_of("run"));
    free(e.memory);
    ssm2d_context_destroy(context);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct meter {
    long calls, fail_at, live;
} meter;

static void *meter_take(size_t bytes, void *user)
{
    meter *m = user;
    if (__atomic_fetch_add(&m->calls, 1, __ATOMIC_RELAXED) == m->fail_at) return NULL;
    __atomic_fetch_add(&m->live, 1, __ATOMIC_RELAXED);
    return malloc(bytes);
}

static void meter_give(void *memory, void *user)
{
    __atomic_fetch_sub(&((meter *)user)->live, 1, __ATOMIC_RELAXED);
    free(memory);
}

/* Some allocations of a run fail in turn: the result is always out of memory, and nothing leaks. */
static void test_failing_allocations_are_errors(void **state)
{
    (void)state;
    meter m = {.fail_at = -1};
    ssm2d_context *context;
    ssm2d_context_options options = {.size = sizeof options,
                                     .threads = 2,
                                     .allocate = meter_take,
                                     .release = meter_give,
                                     .user = &m};
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    train_settings s = tiny();
    train_result result;
    s.options.epochs = 1;
    long live = m.live, done = 0;
    for (long n = 0, step = 1; !done; n += step, step += n > 60 ? 3 : 0) {
        assert_int_equal(run_remove(context, path_of("run"), &error), SSM2D_OK);
        m.calls = 0;
        m.fail_at = n;
        ssm2d_status status = train_begin(context, path_of("run"), &s, NULL, &result, &error);
        done = m.calls <= n;
        m.fail_at = -1;
        if (status && status != SSM2D_ERROR_MEMORY) fail_msg("allocation %ld: %s", n, error.line);
        if (status) assert_line("out of memory: ");
        /* a batch that could not be prefetched may have been made later: then the run succeeds */
        assert_int_equal(m.live, live);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(m.live, 0);
}

/* After the first steps, steps allocate nothing; checkpoints and pictures do. */
typedef struct watcher {
    meter *m;
    long calls;
} watcher;

static void watch(void *user, const train_progress *p)
{
    watcher *w = user;
    long calls = __atomic_load_n(&w->m->calls, __ATOMIC_RELAXED);
    if (p->epoch > 1 && p->step > 1) assert_int_equal(calls, w->calls);
    w->calls = calls;
}

static void test_steps_allocate_nothing(void **state)
{
    (void)state;
    meter m = {.fail_at = -1};
    ssm2d_context *context;
    ssm2d_context_options options = {.size = sizeof options,
                                     .threads = 2,
                                     .allocate = meter_take,
                                     .release = meter_give,
                                     .user = &m};
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    train_settings s = tiny();
    train_result result;
    watcher w = {&m, 0};
    run_control hooks = {.user = &w, .step = watch};
    s.options.save_every = 0;
    s.options.log_every = 1000;
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_loss_that_is_not_finite_ends_the_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_moments_that_overflow_keep_last_checkpoint, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_changed_or_missing_data_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_counters_are_refused, setup, teardown),
        cmocka_unit_test(test_other_class_names_are_refused),
        cmocka_unit_test(test_class_identifiers_match_names_of_older_runs),
        cmocka_unit_test_setup_teardown(test_bad_folders_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_disk_keeps_the_run_resumable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_allocations_are_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps_allocate_nothing, setup, teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
