/* Threads: their number changes no bit, several threads can share a plan, a forked child can
 * execute, and the caller's modes are unchanged. */
#define _GNU_SOURCE /* affinity */
#include "problem.h"

#include "core/context.h"
#include "core/float_mode.h"
#include "core/processors.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The thread sanitizer of gcc and clang takes a child's new thread for one of the parent's and ends
 * the child. */
#if defined(__SANITIZE_THREAD__)
#define FORK_IS_TESTED 0
#elif defined(__has_feature)
#define FORK_IS_TESTED !__has_feature(thread_sanitizer)
#else
#define FORK_IS_TESTED 1
#endif

static int answers_differ(const char *what, const problem *p, const answer *a, const answer *b)
{
    char part[512];
    int wrong = 0;
    snprintf(part, sizeof part, "kernel %s", what);
    wrong += bits_differ(part, a->kernel, b->kernel, p->taps);
    snprintf(part, sizeof part, "y %s", what);
    wrong += bits_differ(part, a->y, b->y, p->cells);
    snprintf(part, sizeof part, "du %s", what);
    wrong += bits_differ(part, a->du, b->du, p->cells);
    snprintf(part, sizeof part, "dparams %s", what);
    wrong += bits_differ(part, a->dparams, b->dparams, p->total);
    return wrong;
}

/* Runs the work that is split for many threads on one. */
static void run_tasks(void *user, size_t tasks, pool_task task_of, void *arg)
{
    (void)user;
    for (size_t task = 0; task < tasks; task++) task_of(arg, task, 0);
}

static void thread_count_changes_no_bit(void **state)
{
    (void)state;
    rng r = rng_seed(61);
    /* the last is one thread that runs work split for 40 */
    static const int threads[] = {1, 2, 3, 4, 40};
    enum { CONTEXTS = sizeof threads / sizeof *threads };
    ssm2d_context *contexts[CONTEXTS];
    const char *algorithm;
    int wrong = 0;
    for (int t = 0; t < CONTEXTS; t++) contexts[t] = context_of(threads[t] == 40 ? 1 : threads[t]);
    const pool_executor forty = {40, NULL, run_tasks};
    pool_delegate(contexts[CONTEXTS - 1]->pool, &forty);
    for (int i = 0; i < 16; i++) {
        ssm2d_config config = random_config(&r);
        /* wide enough for several blocks of channels, and a kernel long enough for several of
         * rows */
        if (i == 0) {
            config = ssm2d_config_default();
            config.channels = 77;
        }
        const size_t cols = 1 + (size_t)below(&r, 20), rows = 1 + (size_t)below(&r, 20),
                     batch = 1 + (size_t)below(&r, 6);
        problem p = problem_make(config, batch, rows, cols, &r);
        for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
            for (int k = 0; (algorithm = serves(&p, &k)); k++) {
                answer one = run(contexts[0], &p, (ssm2d_type)type, algorithm, DENSE, DENSE);
                for (int t = 1; t < CONTEXTS; t++) {
                    char what[400];
                    snprintf(what, sizeof what, "%d threads %s %s %s", threads[t], algorithm,
                             type_names[type], problem_text(&p));
                    answer many = run(contexts[t], &p, (ssm2d_type)type, algorithm, DENSE, DENSE);
                    wrong += answers_differ(what, &p, &many, &one);
                    answer_free(&many);
                }
                answer_free(&one);
            }
        problem_free(&p);
    }
    for (int t = 0; t < CONTEXTS; t++) ssm2d_context_destroy(contexts[t]);
    assert_int_equal(wrong, 0);
}

/* Algorithms differ in the last bits, so that `auto` must not choose by the number of threads. */
static void thread_count_does_not_choose_the_algorithm(void **state)
{
    (void)state;
    static const int threads[] = {2, 8, 64, 256}, sides[] = {8, 24, 56, 64, 96, 160, 256};
    static const int channels[] = {16, 48, 192}, batches[] = {1, 8, 64};
    enum { SHAPES = 7 * 3 * 3 * 3 * 2 };
    ssm2d_context *one = context_of(1), *many = context_of(1);
    for (int i = 0; i < SHAPES; i++) {
        ssm2d_config c = ssm2d_config_default();
        ssm2d_plan_options o = ssm2d_plan_options_default();
        ssm2d_plan *plan;
        ssm2d_error error;
        o.grid = ssm2d_grid_2d((size_t)sides[i % 7], (size_t)sides[i % 7]);
        c.channels = channels[i / 7 % 3];
        o.batch = (size_t)batches[i / 21 % 3];
        c.directions = 1 << i / 63 % 3;
        o.inference = i / 189;
        if (plan_create(one, &c, &o, &plan, &error)) fail_msg("%s", error.line);
        char expected[32];
        snprintf(expected, sizeof expected, "%s", ssm2d_plan_algorithm(plan));
        ssm2d_plan_destroy(plan);
        for (int t = 0; t < 4; t++) {
            const pool_executor executor = {threads[t], NULL, run_tasks};
            pool_delegate(many->pool, &executor);
            if (plan_create(many, &c, &o, &plan, &error)) fail_msg("%s", error.line);
            if (strcmp(ssm2d_plan_algorithm(plan), expected))
                fail_msg("%d channels, %zu x %zu, batch %zu: %s for %d threads, %s for one",
                         c.channels, o.grid.extent[0], o.grid.extent[1], o.batch,
                         ssm2d_plan_algorithm(plan), threads[t], expected);
            ssm2d_plan_destroy(plan);
            pool_delegate(many->pool, NULL);
        }
    }
    ssm2d_context_destroy(one);
    ssm2d_context_destroy(many);
}

typedef struct job {
    const problem *p;
    const ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    answer out; /* in double, as the plan */
    pthread_t thread;
} job;

static void execute(job *j)
{
    const problem *p = j->p;
    memset(j->out.du, 0, p->cells * sizeof(double));
    memset(j->out.dparams, 0, p->total * sizeof(double));
    plan_kernel(j->plan, j->workspace, p->params, j->out.kernel);
    plan_forward(j->plan, j->workspace, p->params, p->u, j->out.y);
    plan_backward(j->plan, j->workspace, p->params, p->u, p->dy, j->out.du, j->out.dparams);
}

static void *execute_often(void *arg)
{
    for (int i = 0; i < 8; i++) execute(arg);
    return NULL;
}

static job job_make(const problem *p, const ssm2d_plan *plan)
{
    return (job){p,
                 plan,
                 workspace_of(plan),
                 {doubles(p->taps), doubles(p->cells), doubles(p->cells), doubles(p->total)},
                 0};
}

static void job_free(job *j)
{
    ssm2d_workspace_destroy(j->workspace);
    answer_free(&j->out);
}

static problem middling(void)
{
    rng r = rng_seed(62);
    ssm2d_config config = ssm2d_config_default();
    config.channels = 21;
    config.d_state = 4;
    config.layer_norm = 1;
    return problem_make(config, 3, 9, 8, &r);
}

static void threads_execute_one_plan(void **state)
{
    (void)state;
    enum { JOBS = 4 };
    const char *algorithm;
    int wrong = 0;
    for (int threads = 1; threads <= 3; threads += 2)
        for (int k = 0; (algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++) {
            problem p = middling();
            ssm2d_context *context = context_of(threads);
            ssm2d_plan *plan = plan_of(context, &p, SSM2D_DOUBLE, algorithm);
            answer want = run(context, &p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
            job jobs[JOBS];
            for (int i = 0; i < JOBS; i++) jobs[i] = job_make(&p, plan);
            for (int i = 0; i < JOBS; i++)
                assert_int_equal(pthread_create(&jobs[i].thread, NULL, execute_often, &jobs[i]), 0);
            for (int i = 0; i < JOBS; i++) {
                pthread_join(jobs[i].thread, NULL);
                wrong += answers_differ(algorithm, &p, &jobs[i].out, &want);
                job_free(&jobs[i]);
            }
            answer_free(&want);
            ssm2d_plan_destroy(plan);
            ssm2d_context_destroy(context);
            problem_free(&p);
        }
    assert_int_equal(wrong, 0);
}

/* The child inherits context, plan and workspace but none of the threads. */
static void forked_child_can_execute(void **state)
{
    (void)state;
    if (!FORK_IS_TESTED) {
        print_message("SKIPPED: the thread sanitizer does not follow threads of a forked child\n");
        skip();
    }
    const char *algorithm;
    for (int k = 0; (algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++) {
        problem p = middling();
        ssm2d_context *context = context_of(3);
        ssm2d_plan *plan = plan_of(context, &p, SSM2D_DOUBLE, algorithm);
        answer want = run(context, &p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
        job j = job_make(&p, plan);
        execute(&j);
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(60); /* a child that waits for threads it does not have ends here */
            memset(j.out.y, 0, p.cells * sizeof(double));
            execute(&j);
            int wrong = answers_differ("in the child", &p, &j.out, &want);
            ssm2d_workspace_destroy(j.workspace);
            ssm2d_plan_destroy(plan);
            ssm2d_context_destroy(context);
            ssm2d_context *own = context_of(2);
            answer again = run(own, &p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
            wrong += answers_differ("in a context of the child", &p, &again, &want);
            ssm2d_context_destroy(own);
            _exit(wrong != 0);
        }
        execute(&j); /* the parent meanwhile */
        assert_int_equal(answers_differ("in the parent", &p, &j.out, &want), 0);
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s: the child ended with status %#x", algorithm, (unsigned)status);
        job_free(&j);
        answer_free(&want);
        ssm2d_plan_destroy(plan);
        ssm2d_context_destroy(context);
        problem_free(&p);
    }
}

/* A signal that the program's own thread blocks stays pending: no worker takes it. */
static void workers_take_no_signals(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(4);
    sigset_t set, before, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGUSR1); /* would end the process in a thread that does not block it */
    rng r = rng_seed(3);
    problem p = problem_make(random_config(&r), 2, 5, 5, &r);
    answer a = run(context, &p, SSM2D_FLOAT, NULL, DENSE, DENSE);
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, SIGUSR1), 1);
    int which;
    sigwait(&set, &which);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    answer_free(&a);
    problem_free(&p);
    ssm2d_context_destroy(context);
}

static void cgroup_quotas_limit_threads(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
    } max[] = {{"max 100000\n", 0},
               {"100000 100000\n", 1},
               {"150000 100000\n", 2},
               {"400000 100000\n", 4},
               {"1 100000\n", 1},
               {"", 0},
               {"100000", 0},
               {"0 100000", 0},
               {"100000 0", 0},
               {"-5 100000", 0},
               {"many 100000", 0},
               {"100000 max", 0},
               {"99999999999999999999 1", 0}};
    for (size_t i = 0; i < sizeof max / sizeof *max; i++)
        assert_int_equal(quota_from_cpu_max(max[i].text), max[i].want);
    assert_int_equal(quota_from_cfs("-1\n", "100000\n"), 0);
    assert_int_equal(quota_from_cfs("250000\n", "100000\n"), 3);
    assert_int_equal(quota_from_cfs("250000\n", "\n"), 0);
    assert_int_equal(quota_from_cfs("", ""), 0);

    const char *text = "12:cpuset:/x\n4:cpu,cpuacct:/docker/abc\nbroken\n7:\n0::/user.slice/a\n";
    char path[32];
    assert_int_equal(cgroup_path(text, "cpu", path, sizeof path), 1);
    assert_string_equal(path, "/docker/abc");
    assert_int_equal(cgroup_path(text, "", path, sizeof path), 1);
    assert_string_equal(path, "/user.slice/a");
    assert_int_equal(cgroup_path(text, "cpuacct", path, sizeof path), 1);
    assert_int_equal(cgroup_path(text, "acct", path, sizeof path), 0);
    assert_int_equal(cgroup_path(text, "cpu", path, 11), 0); /* one short */
    assert_int_equal(cgroup_path("", "cpu", path, sizeof path), 0);
    assert_int_equal(cgroup_path("1:cpu:", "cpu", path, sizeof path), 0);
    assert_int_equal(cgroup_path("1:cpu:x", "cpu", path, sizeof path), 0);
    assert_true(processors_available() >= 1);
}

/* A process that may use one processor gets one thread. */
static void affinity_is_kept(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    ssm2d_context *context = context_of(0);
    assert_int_equal(ssm2d_context_threads(context), 1);
    ssm2d_context_destroy(context);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* ---- subnormal numbers ----------------------------------------------------------------------- */

static float_mode mode_now(void)
{
    const float_mode now = float_mode_set();
    float_mode_restore(now);
    return now;
}

/* Exception flags are not part of the mode. */
static float_mode without_flags(float_mode mode)
{
#if defined(__x86_64__)
    return mode & ~(float_mode)0x3f;
#else
    return mode;
#endif
}

/* The caller's mode is restored, and it changes no bit; kernels that decay below the smallest
 * normal number end in zeros. */
static void caller_mode_is_kept(void **state)
{
    (void)state;
    rng r = rng_seed(62);
    ssm2d_config config = ssm2d_config_default();
    config.channels = 3;
    config.directions = 1;
    problem p = problem_make(config, 2, 3, 200, &r);
    ssm2d_param a_raw;
    assert_true(param_get(&config, 0, &a_raw));
    for (size_t i = 0; i < a_raw.count; i++) p.params[a_raw.offset + i] = 0; /* a = 1/2 */
    const float_mode plain = mode_now();
    int wrong = 0, zeros = 0;
    for (int threads = 1; threads <= 3; threads += 2) {
        ssm2d_context *context = context_of(threads);
        answer a = run(context, &p, SSM2D_FLOAT, NULL, DENSE, DENSE);
        assert_int_equal(without_flags(mode_now()), without_flags(plain));
        float_mode_set();
        const float_mode flushing = mode_now();
        answer b = run(context, &p, SSM2D_FLOAT, NULL, DENSE, DENSE);
        assert_int_equal(without_flags(mode_now()), without_flags(flushing));
        float_mode_restore(plain);
        wrong += answers_differ("when the caller flushes", &p, &a, &b);
        for (size_t i = 0; i < p.taps; i++) {
            const float tap = (float)a.kernel[i];
            assert_true(tap == 0 || isnormal(tap));
            zeros += tap == 0;
        }
        answer_free(&a);
        answer_free(&b);
        ssm2d_context_destroy(context);
    }
    assert_int_equal(wrong, 0);
    assert_true(zeros > 0);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(thread_count_changes_no_bit),
                                       cmocka_unit_test(thread_count_does_not_choose_the_algorithm),
                                       cmocka_unit_test(threads_execute_one_plan),
                                       cmocka_unit_test(forked_child_can_execute),
                                       cmocka_unit_test(workers_take_no_signals),
                                       cmocka_unit_test(cgroup_quotas_limit_threads),
                                       cmocka_unit_test(affinity_is_kept),
                                       cmocka_unit_test(caller_mode_is_kept)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
