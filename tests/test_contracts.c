/* What executing asks of its caller is asserted: each broken promise ends a child process with
 * SIGABRT and a line that says which. Built with NDEBUG there is nothing to test. */
#include "problem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef NDEBUG
int main(void)
{
    fputs("SKIPPED: built with NDEBUG, so that nothing is asserted\n", stderr);
    return SKIPPED;
}
#else

/* A layer of one number per cell, planned for training and for inference, with workspaces. */
typedef struct scene {
    ssm2d_context *context;
    problem p;
    ssm2d_plan *plan, *inference;
    ssm2d_workspace *workspace, *small; /* small: of the plan for inference */
    double *y, *du, *dparams, *kernel;
} scene;

static void backward_on_inference(scene *s)
{
    ssm2d_forward(s->inference, s->small, s->p.params, s->p.u, s->y);
    ssm2d_backward(s->inference, s->small, s->p.params, s->p.u, s->p.dy, s->du, s->dparams);
}

static void kernel_backward_on_inference(scene *s)
{
    ssm2d_kernel_backward(s->inference, s->small, s->p.params, s->kernel, s->dparams);
}

static void workspace_of_another_plan(scene *s)
{
    ssm2d_forward(s->plan, s->small, s->p.params, s->p.u, s->y);
}

static void apply_without_prepare(scene *s) { ssm2d_apply(s->plan, s->workspace, s->p.u, s->y); }

static void apply_after_kernel(scene *s)
{
    ssm2d_forward(s->plan, s->workspace, s->p.params, s->p.u, s->y);
    ssm2d_kernel(s->plan, s->workspace, s->p.params, s->kernel);
    ssm2d_apply(s->plan, s->workspace, s->p.u, s->y);
}

static void backward_without_forward(scene *s)
{
    ssm2d_prepare(s->plan, s->workspace, s->p.params);
    ssm2d_backward(s->plan, s->workspace, s->p.params, s->p.u, s->p.dy, s->du, s->dparams);
}

static void no_params(scene *s) { ssm2d_prepare(s->plan, s->workspace, NULL); }
static void no_input(scene *s) { ssm2d_forward(s->plan, s->workspace, s->p.params, NULL, s->y); }
static void no_output(scene *s) { ssm2d_forward(s->plan, s->workspace, s->p.params, s->p.u, NULL); }
static void no_workspace(scene *s) { ssm2d_prepare(s->plan, NULL, s->p.params); }
static void no_plan(scene *s) { ssm2d_prepare(NULL, s->workspace, s->p.params); }
static void no_kernel(scene *s) { ssm2d_kernel(s->plan, s->workspace, s->p.params, NULL); }
static void no_row(scene *s)
{
    ssm2d_stream *stream;
    ssm2d_config c = s->p.config;
    c.pair = SSM2D_PAIR_COLUMNS;
    if (ssm2d_stream_create(s->context, &c, 1, 2, SSM2D_DOUBLE, s->p.params, &stream, NULL))
        _exit(2);
    ssm2d_stream_push(stream, NULL, s->y);
}

/* Runs in a child with its stderr in a pipe; text gets what it wrote. */
static int status_of(scene *s, void (*act)(scene *), char *text, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL); /* cmocka may have taken it */
        dup2(ends[1], STDERR_FILENO);
        act(s);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; used + 1 < size && (got = read(ends[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)got;
    text[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void broken_promises(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*act)(scene *);
        const char *says;
    } cases[] = {
        {"backward on inference", backward_on_inference, "must not have been made for inference"},
        {"kernel_backward on inference", kernel_backward_on_inference, "made for inference"},
        {"another plan's workspace", workspace_of_another_plan, "made for this plan"},
        {"apply without prepare", apply_without_prepare, "ssm2d_prepare must come before"},
        {"apply after kernel", apply_after_kernel, "ssm2d_prepare must come before"},
        {"backward without forward", backward_without_forward, "ssm2d_forward must come before"},
        {"no params", no_params, "params must not be NULL"},
        {"no u", no_input, "u must not be NULL"},
        {"no y", no_output, "y must not be NULL"},
        {"no workspace", no_workspace, "workspace must not be NULL"},
        {"no plan", no_plan, "plan must not be NULL"},
        {"no kernel", no_kernel, "kernel must not be NULL"},
        {"no row", no_row, "must not be NULL"},
    };
    scene s = {.context = context_of(1)};
    rng r = rng_seed(5);
    ssm2d_config c = ssm2d_config_default();
    c.channels = 2;
    s.p = problem_make(c, 1, 2, 2, &r);
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.rows = o.cols = 2;
    o.type = SSM2D_DOUBLE;
    o.inference = 1;
    s.plan = plan_of(s.context, &s.p, SSM2D_DOUBLE, "direct");
    assert_int_equal(ssm2d_plan_create(s.context, &c, &o, &s.inference, NULL), SSM2D_OK);
    s.workspace = workspace_of(s.plan);
    s.small = workspace_of(s.inference);
    s.y = doubles(s.p.cells), s.du = doubles(s.p.cells), s.dparams = doubles(s.p.total);
    s.kernel = doubles(s.p.taps);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        const int status = status_of(&s, cases[i].act, text, sizeof text);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !strstr(text, cases[i].says))
            fail_msg("%s: status %x, stderr '%s'", cases[i].name, (unsigned)status, text);
    }
    free(s.y), free(s.du), free(s.dparams), free(s.kernel);
    ssm2d_workspace_destroy(s.workspace);
    ssm2d_workspace_destroy(s.small);
    ssm2d_plan_destroy(s.plan);
    ssm2d_plan_destroy(s.inference);
    problem_free(&s.p);
    ssm2d_context_destroy(s.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_promises)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
