/* Runs that are killed at random moments, stopped or started twice: they end with the same bits as
 * an undisturbed one. */
#define _GNU_SOURCE
#include "loop_helpers.h"

#include "core/rng.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

/* ---- crashes --------------------------------------------------------------------------------- */

typedef struct killer {
    long at, now; /* steps */
} killer;

static void kill_at(void *user, const train_progress *p)
{
    killer *k = user;
    (void)p;
    if (++k->now == k->at) raise(SIGKILL);
}

/* In a child process: resumes the run, or starts it; killed after this many steps, or by a timer
 * (microseconds; 0: none). */
static int attempt(const char *run, int threads, long steps, long microseconds)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        killer k = {steps, 0};
        run_control hooks = {.user = &k, .step = kill_at};
        train_result result;
        ssm2d_context *context;
        train_settings s = tiny();
        struct itimerval timer = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
        /* SIGALRM ends the process wherever it is */
        if (microseconds) setitimer(ITIMER_REAL, &timer, NULL);
        if (ssm2d_context_create(
                &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = threads},
                &context, &error))
            _exit(3);
        ssm2d_status failed = run_exists(run)
                                  ? train_resume(context, run, &hooks, &result, &error)
                                  : train_begin(context, run, &s, &hooks, &result, &error);
        if (failed) fprintf(stderr, "%s\n", error.line);
        _exit(failed ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status)) fail_msg("a run that was resumed failed");
    return WIFEXITED(status);
}

static void test_run_killed_between_steps_resumes_to_same_bits(void **state)
{
    (void)state;
    train(path_of("whole"), 2);
    ending e = load(path_of("whole"));
    char *text = metrics_text(path_of("whole"));
    rng r = rng_seed(11);
    for (int round = 0; round < 6; round++) {
        char name[32];
        int kills = 0;
        snprintf(name, sizeof name, "killed%d", round);
        while (!attempt(path_of(name), 1 + kills % 3, 2 + (long)(rng_next(&r) % 7), 0))
            assert_true(++kills < 100);
        assert_true(kills > 0);
        assert_same(&e, path_of(name));
        char *other = metrics_text(path_of(name));
        assert_string_equal(text, other);
        free(other);
    }
    free(text);
    free(e.memory);
}

static void test_run_killed_at_any_time_resumes_to_same_bits(void **state)
{
    (void)state;
    struct timeval start, end;
    gettimeofday(&start, NULL);
    train(path_of("whole"), 2);
    gettimeofday(&end, NULL);
    long whole = (end.tv_sec - start.tv_sec) * 1000000 + end.tv_usec - start.tv_usec;
    ending e = load(path_of("whole"));
    rng r = rng_seed(12);
    for (int round = 0; round < 4; round++) {
        char name[32];
        int kills = 0;
        snprintf(name, sizeof name, "killed%d", round);
        /* more time after every kill, so that it ends on slow machines */
        while (!attempt(path_of(name), 2, 0,
                        1 + (long)(rng_next(&r) % (uint64_t)(whole / 2 + kills * whole / 20))))
            assert_true(++kills < 300);
        assert_same(&e, path_of(name));
    }
    free(e.memory);
}

/* ---- stops ----------------------------------------------------------------------------------- */

/* Stopped at each stop check in turn, between steps and while testing: the run is saved, and
 * continues to the same end. */
static void test_stopped_run_resumes_to_same_bits(void **state)
{
    (void)state;
    train(path_of("whole"), 1);
    ending e = load(path_of("whole"));
    for (long at = 1; at < 20; at += 2) {
        ssm2d_context *context = make(1);
        train_settings s = tiny();
        train_result result;
        stopper stop = {at, 0};
        run_control hooks = {.user = &stop, .stop = stop_at};
        char name[32];
        snprintf(name, sizeof name, "stopped%ld", at);
        if (train_begin(context, path_of(name), &s, &hooks, &result, &error))
            fail_msg("%s", error.line);
        assert_int_equal(result.stopped, 1);
        assert_true(result.step < STEPS);
        if (train_resume(context, path_of(name), NULL, &result, &error)) fail_msg("%s", error.line);
        assert_int_equal(result.stopped, 0);
        assert_int_equal(result.step, STEPS);
        ssm2d_context_destroy(context);
        assert_same(&e, path_of(name));
    }
    free(e.memory);
}

static void test_complete_run_is_not_changed_by_resuming(void **state)
{
    (void)state;
    train(path_of("run"), 1);
    ending e = load(path_of("run"));
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    if (train_resume(context, path_of("run"), NULL, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(result.step, STEPS);
    assert_same(&e, path_of("run"));
    assert_int_not_equal(train_begin(context, path_of("run"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("has a run already");
    assert_same(&e, path_of("run"));
    free(e.memory);
    ssm2d_context_destroy(context);
}

/* Two at once would mix their checkpoints. */
static void try_another(void *user, const train_progress *p)
{
    train_result result;
    ssm2d_context *context = user;
    if (p->step != 1 || p->epoch != 1) return;
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("another process is training in this folder");
    train_settings s = tiny();
    assert_int_not_equal(train_replace(context, path_of("run"), &s, NULL, &result, &error),
                         SSM2D_OK);
    assert_line("another process is training in this folder");
}

static void test_second_process_is_refused(void **state)
{
    (void)state;
    ssm2d_context *context = make(1), *other = make(1);
    train_settings s = tiny();
    train_result result;
    run_control hooks = {.user = other, .step = try_another};
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error))
        fail_msg("%s", error.line);
    assert_int_equal(result.step, STEPS);
    ssm2d_context_destroy(other);
    ssm2d_context_destroy(context);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_run_killed_between_steps_resumes_to_same_bits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_run_killed_at_any_time_resumes_to_same_bits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_stopped_run_resumes_to_same_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_complete_run_is_not_changed_by_resuming, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_second_process_is_refused, setup, teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
