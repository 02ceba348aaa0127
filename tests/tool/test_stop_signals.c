/* Signals that stop a job: the first requests a stop, repetitions within a second are the same
 * request, and a later one ends the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/stop_signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in a process of its own; exits with 1, 2 .. where it did not go as it should. */
static void be_signalled(int again_after_us)
{
    stop_signals_catch();
    if (stop_requested(NULL)) _exit(1);
    raise(SIGTERM);
    if (!stop_requested(NULL)) _exit(2);
    raise(SIGINT);
    raise(SIGTERM);
    usleep((useconds_t)again_after_us);
    raise(SIGINT);
    _exit(0);
}

static int run_signalled(int again_after_us)
{
    int status;
    const pid_t child = fork();
    if (child == 0) be_signalled(again_after_us);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_repetitions_are_one_request(void **state)
{
    (void)state;
    const int status = run_signalled(1000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_later_signal_ends_the_program(void **state)
{
    (void)state;
    const int status = run_signalled(1100000);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_repetitions_are_one_request),
                                       cmocka_unit_test(test_later_signal_ends_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
