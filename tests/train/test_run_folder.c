/* The folder of a run beside other processes and other people's files: none of theirs is ever
 * replaced, and nothing of a run is left behind. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "data/dataset_impl.h"

#include <fcntl.h>
#include <sys/file.h>

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void assert_text(const char *path, const char *text)
{
    char found[256] = "";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    found[fread(found, 1, sizeof found - 1, f)] = 0;
    fclose(f);
    assert_string_equal(found, text);
}

static int exists(const char *path)
{
    struct stat info;
    return !lstat(path, &info);
}

/* ---- two at once ----------------------------------------------------------------------------- */

/* Data that open so slowly that another process starts training in the folder meanwhile. */
static ssm2d_status open_slowly(dataset *d, const char *data, dataset_split split, ssm2d_error *why)
{
    if (split == DATASET_TRAIN && !run_exists(path_of("run"))) train(path_of("run"), 1);
    return idx_open(d, data, split, why);
}

static void test_folder_taken_by_another_run_is_refused(void **state)
{
    (void)state;
    dataset_impl slow = dataset_idx;
    slow.name = "slow";
    slow.open = open_slowly;
    dataset_extra = (const dataset_impl *const[]){&slow, NULL};
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    char where[128];
    snprintf(where, sizeof where, "slow:%s", path_of("data"));
    assert_int_equal(train_settings_set(&s, "test", "data", where, &error), SSM2D_OK);
    assert_int_equal(train_settings_set(&s, "test", "seed", "99", &error), SSM2D_OK);
    assert_int_not_equal(train_begin(context, path_of("run"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("has a run already");
    dataset_extra = NULL;
    /* the other run is whole */
    ending e = load(path_of("run"));
    train(path_of("alone"), 1);
    assert_same(&e, path_of("alone"));
    free(e.memory);
    ssm2d_context_destroy(context);
}

/* ---- files of others ------------------------------------------------------------------------- */

static void assert_refuses(const char *part)
{
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    assert_int_not_equal(train_begin(context, path_of("run"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line(part);
    assert_int_not_equal(train_replace(context, path_of("run"), &s, NULL, &result, &error),
                         SSM2D_OK);
    ssm2d_context_destroy(context);
}

static void test_files_of_others_are_kept(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json",       "data.json",        "last.safetensors",
                                        "model.safetensors", "best.safetensors", "metrics.jsonl",
                                        "curves.svg",        "machines.json"};
    char path[RUN_PATH];
    assert_int_equal(mkdir(path_of("run"), 0777), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/run/%s", folder, names[i]);
        put_text(path, "precious");
        assert_refuses(names[i]);
        assert_line(names[i]);
        assert_text(path, "precious");
        assert_int_equal(remove(path), 0);
        assert_int_equal(symlink("nowhere", path), 0);
        assert_refuses(names[i]);
        assert_int_equal(remove(path), 0);
    }
    /* a file of that name which is not a run's */
    put_text(path_of("run/train.json"), "[{\"text\": \"precious\"}]");
    put_text(path_of("run/model.safetensors"), "precious");
    assert_refuses("has a run already");
    assert_line("its train.json is not that of a run");
    assert_text(path_of("run/train.json"), "[{\"text\": \"precious\"}]");
    assert_text(path_of("run/model.safetensors"), "precious");
    put_text(path_of("run/train.json"), "{}");
    assert_refuses("has a run already");
    assert_text(path_of("run/model.safetensors"), "precious");
    assert_int_equal(remove(path_of("run/train.json")), 0);
    assert_int_equal(remove(path_of("run/model.safetensors")), 0);
    /* files with other names are allowed, and kept */
    put_text(path_of("run/notes.txt"), "precious");
    train(path_of("run"), 1);
    assert_text(path_of("run/notes.txt"), "precious");
}

/* ---- the start of a run ---------------------------------------------------------------------- */

/* Killed after each of the files that a new run writes first: it starts again, and ends as if
 * nothing had happened. */
static void test_run_killed_at_start_begins_again(void **state)
{
    (void)state;
    static const char *const order[] = {"train.json", "metrics.jsonl", "config.json", "data.json",
                                        "machines.json"};
    train_result result;
    ssm2d_context *context = make(1);
    train(path_of("whole"), 1);
    ending e = load(path_of("whole"));
    for (size_t count = 1; count <= sizeof order / sizeof *order; count++) {
        char from[RUN_PATH], to[RUN_PATH], name[32];
        snprintf(name, sizeof name, "killed%zu", count);
        assert_int_equal(mkdir(path_of(name), 0777), 0);
        for (size_t i = 0; i < count; i++) {
            snprintf(from, sizeof from, "%s/whole/%s", folder, order[i]);
            snprintf(to, sizeof to, "%s/%s/%s", folder, name, order[i]);
            if (i == 1)
                put_text(to, "");
            else
                assert_int_equal(link(from, to), 0);
        }
        if (train_resume(context, path_of(name), NULL, &result, &error)) fail_msg("%s", error.line);
        assert_same(&e, path_of(name));
    }
    free(e.memory);
    ssm2d_context_destroy(context);
}

/* ---- left over by killed processes ----------------------------------------------------------- */

static void test_only_own_temporary_files_are_removed(void **state)
{
    (void)state;
    static const char *const ours[] = {"run/.ssm2d-0123456789", "run/.ssm2d-vvvvvvvvvv"};
    static const char *const others[] = {"run/.ssm2d-012345678", "run/.ssm2d-0123456789a",
                                         "run/.ssm2d-ABCDEFGHIJ", "run/ssm2d-0123456789",
                                         "run/.other-0123456789"};
    train_result result;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train(path_of("run"), 1);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) put_text(path_of(ours[i]), "half");
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            put_text(path_of(others[i]), "precious");
        put_text(path_of("run/.ssm2d-aaaaaaaaaa"), "of a process that is alive");
        assert_true(round || !mkdir(path_of("run/.ssm2d-bbbbbbbbbb"), 0777));
        assert_true(round || !symlink("nowhere", path_of("run/.ssm2d-cccccccccc")));
        const int held = open(path_of("run/.ssm2d-aaaaaaaaaa"), O_RDWR);
        assert_int_equal(flock(held, LOCK_EX), 0);
        if (round ? train_replace(context, path_of("run"), &s, NULL, &result, &error)
                  : train_resume(context, path_of("run"), NULL, &result, &error))
            fail_msg("%s", error.line);
        close(held);
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            assert_false(exists(path_of(ours[i])));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            assert_text(path_of(others[i]), "precious");
        assert_true(exists(path_of("run/.ssm2d-aaaaaaaaaa")));
        assert_true(exists(path_of("run/.ssm2d-bbbbbbbbbb")));
        assert_true(exists(path_of("run/.ssm2d-cccccccccc")));
    }
    ssm2d_context_destroy(context);
}

/* ---- a folder that is replaced --------------------------------------------------------------- */

static void replace_folder(void *user, const train_progress *p)
{
    const long *at = user;
    if (p->epoch != 1 || p->step != *at) return;
    assert_int_equal(rename(path_of("run"), path_of("moved")), 0);
    assert_int_equal(mkdir(path_of("run"), 0777), 0);
    put_text(path_of("run/notes.txt"), "precious");
}

static void test_replaced_folder_ends_the_run(void **state)
{
    (void)state;
    train(path_of("whole"), 1);
    ending e = load(path_of("whole"));
    for (long at = 1; at <= EPOCH_STEPS; at++) {
        ssm2d_context *context = make(1);
        train_settings s = tiny();
        train_result result;
        run_control hooks = {.user = &at, .step = replace_folder};
        assert_int_not_equal(train_begin(context, path_of("run"), &s, &hooks, &result, &error),
                             SSM2D_OK);
        assert_line("is no longer the folder of this run");
        assert_int_equal(remove(path_of("run/notes.txt")), 0);
        assert_int_equal(rmdir(path_of("run")), 0); /* nothing else is in it */
        /* the run continues at its new place */
        if (train_resume(context, path_of("moved"), NULL, &result, &error))
            fail_msg("%s", error.line);
        assert_same(&e, path_of("moved"));
        assert_int_equal(run_remove(context, path_of("moved"), &error), SSM2D_OK);
        assert_int_equal(rmdir(path_of("moved")), 0);
        ssm2d_context_destroy(context);
    }
    free(e.memory);
}

/* ---- weights from other programs ------------------------------------------------------------- */

/* A folder as written by save_run of ssm2d.torch: no checkpoint, no number of images, and perhaps
 * no data. */
static void test_imported_weights_are_opened(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_result result;
    run_data data;
    train(path_of("run"), 1);
    assert_int_equal(remove(path_of("run/last.safetensors")), 0);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("no checkpoint to resume: --start");
    put_text(
        path_of("run/data.json"),
        "{\"classes\": [\"a\"], \"channels\": 1, \"mean\": [0.5, 0.5, 0.5], \"std\": [1, 1, 1]}");
    assert_int_equal(run_data_read(context, path_of("run"), &data, &error), SSM2D_OK);
    assert_int_equal(data.images, 0);
    assert_string_equal(data.names[0], "a");
    run_data_free(context, &data);
    put_text(path_of("run/data.json"), "{\"classes\": [\"a\"], \"channels\": 1, \"images\": 0}");
    assert_int_not_equal(run_data_read(context, path_of("run"), &data, &error), SSM2D_OK);
    assert_line("images");
    assert_int_equal(run_names_data("run", "idx:none", &error), SSM2D_OK);
    assert_int_not_equal(run_names_data("run", "none", &error), SSM2D_OK);
    assert_line("run: does not name its data");
    ssm2d_context_destroy(context);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folder_taken_by_another_run_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_files_of_others_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run_killed_at_start_begins_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_own_temporary_files_are_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replaced_folder_ends_the_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_imported_weights_are_opened, setup, teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
