/* The thread pool: every task runs once for any number of threads, groups of workers, an executor
 * instead of them; and the schedule with which `ssm2d bench train` predicts larger pools. */
#include "problem.h"

#include "core/arith.h"
#include "core/context.h"
#include "tools/bench/pool_schedule.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TASKS = 700 };

typedef struct counts {
    int threads;
    _Atomic int times[MAX_TASKS], bad_workers; /* calls with an invalid worker index */
} counts;

static void count_task(void *arg, size_t task, int worker)
{
    counts *c = arg;
    atomic_fetch_add(&c->times[task], 1);
    if (worker < 0 || worker >= c->threads) atomic_fetch_add(&c->bad_workers, 1);
}

static void every_task_runs_once(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 7, 8, 9, 16, 23, 40};
    static const size_t tasks[] = {0, 1, 2, 3, 8, 9, 39, 64, 257, MAX_TASKS};
    static counts c;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        ssm2d_context *context = context_of(threads[i]);
        for (int turn = 0; turn < 10; turn++)
            for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
                memset(&c, 0, sizeof c);
                c.threads = threads[i];
                pool_run(context->pool, tasks[k], count_task, &c);
                assert_int_equal(c.bad_workers, 0);
                for (size_t t = 0; t < MAX_TASKS; t++) assert_int_equal(c.times[t], t < tasks[k]);
            }
        ssm2d_context_destroy(context);
    }
}

static void groups_share_all_tasks(void **state)
{
    (void)state;
    for (size_t threads = 1; threads < 70; threads++)
        for (size_t tasks = 0; tasks < 300; tasks += 7) {
            const size_t size = pool_group_size(threads), groups = div_up_size(threads, size);
            assert_in_range(groups, 1, POOL_GROUPS);
            size_t first = 0;
            for (size_t i = 0; i < groups; i++) {
                const size_t end = pool_group_end(tasks, threads, i), mine = end - first,
                             workers = min_size(size, threads - i * size);
                assert_true(end >= first && end <= tasks);
                /* as many as its part of the workers, give or take one */
                assert_true(mine * threads <= (tasks * workers + threads));
                assert_true(mine * threads + threads >= tasks * workers);
                first = end;
            }
            assert_int_equal(first, tasks);
        }
    /* sizes whose product would overflow */
    assert_true(pool_group_end(SIZE_MAX, 64, 6) < SIZE_MAX);
    assert_true(pool_group_end(SIZE_MAX, 64, 7) == SIZE_MAX);
}

typedef struct executed {
    long runs, tasks;
} executed;

static void run_tasks(void *user, size_t tasks, pool_task task_of, void *arg)
{
    executed *e = user;
    e->runs++;
    e->tasks += (long)tasks;
    for (size_t task = 0; task < tasks; task++) task_of(arg, task, 0);
}

/* An executor gets every run, and determines for how many threads work is split. */
static void executor_receives_every_run(void **state)
{
    (void)state;
    static counts c;
    for (int threads = 1; threads <= 2; threads++) {
        executed e = {0};
        const pool_executor executor = {64, &e, run_tasks};
        ssm2d_context *context = context_of(threads);
        c.threads = 1; /* all tasks run as worker 0 */
        pool_delegate(context->pool, &executor);
        assert_int_equal(pool_threads(context->pool), 64);
        pool_run(context->pool, 100, count_task, &c);
        pool_run(context->pool, 1, count_task, &c);
        assert_int_equal(c.bad_workers, 0);
        c.threads = threads;
        pool_delegate(context->pool, NULL);
        assert_int_equal(pool_threads(context->pool), threads);
        pool_run(context->pool, 3, count_task, &c);
        ssm2d_context_destroy(context);
        assert_int_equal(e.runs, 2);
        assert_int_equal(e.tasks, 101);
    }
}

static void assert_seconds(double got, double want)
{
    if (!(got > want * (1 - 1e-12) && got < want * (1 + 1e-12)))
        fail_msg("%g seconds instead of %g", got, want);
}

static void simulated_schedule_has_expected_times(void **state)
{
    (void)state;
    const pool_costs none = {0, 0, 0}, costs = {.signal = 5, .counter = 2, .line = 0.5};
    double times[128];
    void *scratch = malloc(pool_schedule_bytes(64));
    assert_non_null(scratch);
    for (int i = 0; i < 128; i++) times[i] = 3;
    /* no overhead: 128 tasks take two turns of 64 threads, and so do 65 */
    assert_seconds(pool_schedule(times, 128, 1, &none, scratch), 384);
    assert_seconds(pool_schedule(times, 128, 2, &none, scratch), 192);
    assert_seconds(pool_schedule(times, 128, 64, &none, scratch), 6);
    assert_seconds(pool_schedule(times, 65, 64, &none, scratch), 6);
    assert_seconds(pool_schedule(times, 64, 64, &none, scratch), 3);
    /* a thread whose group has no tasks left helps another group: the second group's threads run 8
     * long tasks at the end of the first group's part */
    for (int i = 0; i < 16; i++) times[i] = i < 8 ? 4 : 1;
    assert_seconds(pool_schedule(times, 16, 16, &none, scratch), 4);
    for (int i = 0; i < 32; i++) times[i] = i < 16 ? 2 : 0.5;
    assert_seconds(pool_schedule(times, 32, 16, &none, scratch), 3);
    /* one thread has no pool; neither has a single task */
    assert_seconds(pool_schedule(times, 1, 64, &costs, scratch), 2);
    assert_seconds(pool_schedule(times, 2, 1, &costs, scratch), 4);
    /* Two threads, two tasks of 10: two counters are written (1); the caller has its task at 3; the
     * worker sees the round at 6, has its task at 8, is done at 18 and looks at the caller's
     * counter (18.5); its line is read then. */
    times[0] = times[1] = 10;
    assert_seconds(pool_schedule(times, 2, 2, &costs, scratch), 19);
    /* limited by the counters: three threads with many empty tasks take one task at a time, each
     * from its own counter */
    for (int i = 0; i < 99; i++) times[i] = 0;
    const double counting = pool_schedule(times, 99, 3, &costs, scratch);
    assert_true(counting >= 1.5 + 33 * 2 + 2 * 0.5);
    assert_true(counting <= 1.5 + 5 + 34 * 2 + 4 * 0.5);
    /* more threads are not slower, without costs and with tasks of any length */
    rng r = rng_seed(5);
    for (int i = 0; i < 128; i++) times[i] = rng_uniform(&r, 0, 1);
    double sum = 0, longest = 0;
    for (int i = 0; i < 128; i++) {
        sum += times[i];
        longest = times[i] > longest ? times[i] : longest;
    }
    for (int threads = 2; threads <= 64; threads++) {
        const double got = pool_schedule(times, 128, threads, &none, scratch);
        assert_true(got > sum / threads * (1 - 1e-12));
        assert_true(got <= sum / threads + longest); /* as of any list of tasks */
    }
    free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(groups_share_all_tasks),
        cmocka_unit_test(executor_receives_every_run),
        cmocka_unit_test(simulated_schedule_has_expected_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
