/* Checkpoints: a written state is read back to the bit; truncated, changed or missing parts give a
 * one-line error. */
#include "../io_helpers.h"

#include "train/checkpoint.h"

#include <math.h>
#include <sys/resource.h>
#include <signal.h>

enum { COUNT = 37 };

static float arrays[2][4][COUNT];
static const train_identity who = {"{\"lr\": 0.1}", "{\"model\": \"vit\"}", "{\"classes\": []}",
                                   0xfedcba9876543210u};

static train_state state_of(int which, int average)
{
    return (train_state){.count = COUNT,
                         .arrays = {.optimizer = optimizer_at(0),
                                    .weights = arrays[which][0],
                                    .optimizer_arrays = {arrays[which][1], arrays[which][2]},
                                    .average = average ? arrays[which][3] : NULL}};
}

static train_state filled(int average)
{
    memset(arrays, 0, sizeof arrays);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < COUNT; k++)
            arrays[0][i][k] = sinf((float)(i * COUNT + k)) * powf(10, (float)(k % 60 - 30));
    train_state s = state_of(0, average);
    s.step = 123456789012;
    s.epochs = 7;
    s.images = 640;
    s.score_sum = 321;
    s.loss_sum = 1.0 / 3;
    s.log_sum = M_PI;
    s.log_steps = 3;
    s.best = 0.1 + 0.2;
    s.best_epoch = 5;
    s.seconds = 1e-300;
    return s;
}

static ssm2d_status load(const char *path, train_state *s, train_identity *identity)
{
    checkpoint *c;
    ssm2d_status status = checkpoint_open(context, path, &c, identity, &error);
    if (status) return status;
    if (identity->options) assert_string_equal(identity->options, who.options);
    assert_string_equal(identity->model, who.model);
    assert_string_equal(identity->data, who.data);
    status = checkpoint_read(c, s, &error);
    checkpoint_close(c);
    return status;
}

static void test_written_state_reads_back_unchanged(void **unused)
{
    (void)unused;
    for (int average = 0; average < 2; average++) {
        train_state s = filled(average), back = state_of(1, average);
        train_identity identity;
        assert_int_equal(checkpoint_write(context, io_path("c"), &s, &who, &error), SSM2D_OK);
        assert_int_equal(load(io_path("c"), &back, &identity), SSM2D_OK);
        assert_int_equal(identity.layout, who.layout);
        for (int i = 0; i < 3 + average; i++)
            assert_memory_equal(arrays[0][i], arrays[1][i], sizeof arrays[0][i]);
        back.arrays = s.arrays;
        assert_memory_equal(&s, &back, sizeof s);
    }
}

static void test_truncated_files_are_refused(void **unused)
{
    (void)unused;
    train_state s = filled(1), back = state_of(1, 1);
    train_identity identity;
    size_t size;
    assert_int_equal(checkpoint_write(context, io_path("c"), &s, &who, &error), SSM2D_OK);
    unsigned char *bytes = io_get(io_path("c"), &size);
    for (size_t n = 0; n < size; n++) {
        const char *path = io_put("cut", bytes, n);
        error.line[0] = 0;
        if (!load(path, &back, &identity))
            fail_msg("%zu of %zu bytes were taken for a checkpoint", n, size);
        assert_line("cut");
        assert_null(strchr(error.line, '\n'));
    }
    free(bytes);
    assert_int_not_equal(load(io_path("nothing"), &back, &identity), SSM2D_OK);
    assert_line("nothing");
}

/* Each byte of the file is changed in turn: the change is detected, or has no effect. */
static void test_damaged_bytes_are_noticed(void **unused)
{
    (void)unused;
    train_state s = filled(1), back = state_of(1, 1);
    size_t size;
    assert_int_equal(checkpoint_write(context, io_path("c"), &s, &who, &error), SSM2D_OK);
    unsigned char *bytes = io_get(io_path("c"), &size);
    for (size_t n = 0; n < size; n++) {
        checkpoint *c;
        train_identity identity;
        bytes[n] ^= 0x41;
        const char *path = io_put("bad", bytes, size);
        if (!checkpoint_open(context, path, &c, &identity, &error)) {
            if (!checkpoint_read(c, &back, &error)) {
                assert_memory_equal(arrays[0], arrays[1], sizeof arrays[0]);
                assert_true(back.step == s.step && back.best == s.best
                            && identity.layout == who.layout);
                assert_string_equal(identity.options, who.options);
                assert_string_equal(identity.model, who.model);
                assert_string_equal(identity.data, who.data);
            }
            checkpoint_close(c);
        }
        bytes[n] ^= 0x41;
    }
    free(bytes);
}

static void test_mismatching_checkpoints_are_refused(void **unused)
{
    (void)unused;
    train_state s = filled(0), back = state_of(1, 1);
    train_identity identity = {0};
    assert_int_equal(checkpoint_write(context, io_path("c"), &s, &who, &error), SSM2D_OK);
    assert_int_not_equal(load(io_path("c"), &back, &identity), SSM2D_OK);
    assert_line("average");
    back = state_of(1, 0);
    back.count--;
    assert_int_not_equal(load(io_path("c"), &back, &identity), SSM2D_OK);
    assert_line("weights");
    arrays[0][1][3] = NAN;
    assert_int_equal(checkpoint_write(context, io_path("c"), &s, &who, &error), SSM2D_OK);
    back.count++;
    assert_int_not_equal(load(io_path("c"), &back, &identity), SSM2D_OK);
    assert_line("moment1[3] is not finite");
}

static ssm2d_status attempt_write(void)
{
    train_state s = filled(1);
    return checkpoint_write(context, io_path("c"), &s, &who, &error);
}

static ssm2d_status attempt_read(void)
{
    train_state back = state_of(1, 1);
    train_identity identity;
    return load(io_path("c"), &back, &identity);
}

/* A check sum with unprintable characters is refused with a printable line. */
static void test_unprintable_checksum_gives_printable_error(void **unused)
{
    (void)unused;
    static const char key[] = "\"note_sum\":\"";
    train_state s = filled(0), back = state_of(1, 0);
    train_identity identity = {0};
    size_t size, at = 0;
    assert_int_equal(checkpoint_write(context, io_path("c"), &s, &who, &error), SSM2D_OK);
    unsigned char *bytes = io_get(io_path("c"), &size);
    while (at + sizeof key < size && memcmp(bytes + at, key, sizeof key - 1)) at++;
    assert_true(at + sizeof key < size);
    memcpy(bytes + at + sizeof key - 1, "\\n\\t\\r\\n", 8); /* as JSON escapes them */
    assert_int_equal(load(io_put("bad", bytes, size), &back, &identity), SSM2D_ERROR_ARGUMENT);
    for (const char *c = error.line; *c; c++) assert_true((unsigned char)*c >= 0x20);
    free(bytes);
}

static void test_any_allocation_may_fail(void **unused)
{
    (void)unused;
    assert_true(io_fail_everywhere(attempt_write) > 0);
    assert_int_equal(io_count_files(), 1);
    assert_true(io_fail_everywhere(attempt_read) > 0);
}

/* A full disk keeps the previous checkpoint, and leaves nothing else. */
static void test_full_disk_keeps_the_old_checkpoint(void **unused)
{
    (void)unused;
    train_state s = filled(1), back = state_of(1, 1);
    train_identity identity;
    struct rlimit was, small;
    assert_int_equal(checkpoint_write(context, io_path("c"), &s, &who, &error), SSM2D_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, SIG_IGN);
    s.step++;
    for (rlim_t max_size = 0; max_size < 1024; max_size += 100) {
        small = was;
        small.rlim_cur = max_size;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        ssm2d_status status = checkpoint_write(context, io_path("c"), &s, &who, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        assert_int_equal(status, SSM2D_ERROR_SYSTEM);
        assert_line("cannot be written");
        assert_int_equal(io_count_files(), 1);
    }
    assert_int_equal(load(io_path("c"), &back, &identity), SSM2D_OK);
    assert_int_equal(back.step, s.step - 1);
    signal(SIGXFSZ, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_written_state_reads_back_unchanged, io_begin),
        cmocka_unit_test_setup(test_truncated_files_are_refused, io_begin),
        cmocka_unit_test_setup(test_damaged_bytes_are_noticed, io_begin),
        cmocka_unit_test_setup(test_mismatching_checkpoints_are_refused, io_begin),
        cmocka_unit_test_setup(test_unprintable_checksum_gives_printable_error, io_begin),
        cmocka_unit_test_setup(test_any_allocation_may_fail, io_begin),
        cmocka_unit_test_setup(test_full_disk_keeps_the_old_checkpoint, io_begin),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
