/* Random layers through the public interface against the oracle: every option crossed with every
 * other, any grid, batch, memory layout and element type, every algorithm. */
#include "oracle.h"
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATH_CASES = 60, KERNEL_CASES = 150, LAYER_CASES = 200 };

static const double allowed[2] = {3e-5, 1e-11};

/* The kernel by the library, by the recursion, and as a sum over paths. */
static void kernel_is_a_sum_over_paths(void **state)
{
    (void)state;
    rng r = rng_seed(1);
    ssm2d_context *context = context_of(1);
    int wrong = 0;
    for (int i = 0; i < PATH_CASES; i++) {
        ssm2d_config config = random_config(&r);
        config.norm = (ssm2d_norm)(i % 4);
        config.values = (ssm2d_values)(i / 4 % 3);
        const size_t cols = 1 + (size_t)below(&r, 5), rows = 1 + (size_t)below(&r, 4);
        problem p = problem_make(config, 1, rows, cols, &r);
        double *paths = doubles(p.taps), *recursion = doubles(p.taps);
        oracle_kernel(&config, p.params, BY_PATHS, p.rows, p.cols, paths);
        oracle_kernel(&config, p.params, BY_RECURSION, p.rows, p.cols, recursion);
        wrong += differs(problem_text(&p), recursion, paths, p.taps, 1e-13);
        answer a = run(context, &p, SSM2D_DOUBLE, NULL, DENSE, DENSE);
        wrong += differs(problem_text(&p), a.kernel, paths, p.taps, 1e-12);
        answer_free(&a);
        free(paths), free(recursion);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static void kernel_agrees_with_recursion(void **state)
{
    (void)state;
    rng r = rng_seed(2);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < KERNEL_CASES; i++) {
        ssm2d_config config = random_config(&r);
        const size_t cols = 1 + (size_t)below(&r, 24), rows = 1 + (size_t)below(&r, 24);
        problem p = problem_make(config, 1, rows, cols, &r);
        double *want = doubles(p.taps), *got = doubles(p.taps);
        oracle_kernel(&config, p.params, BY_RECURSION, p.rows, p.cols, want);
        const char *algorithm;
        for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
            for (int k = 0; (algorithm = serves(&p, &k)); k++) {
                ssm2d_plan *plan = plan_of(context, &p, (ssm2d_type)type, algorithm);
                ssm2d_workspace *workspace = workspace_of(plan);
                void *params = convert((ssm2d_type)type, p.params, p.total),
                     *kernel = convert((ssm2d_type)type, got, p.taps);
                plan_kernel(plan, workspace, params, kernel);
                convert_back((ssm2d_type)type, kernel, got, p.taps);
                char what[400];
                snprintf(what, sizeof what, "%s %s %s", algorithm, type_names[type],
                         problem_text(&p));
                wrong += differs(what, got, want, p.taps, allowed[type]);
                free(params), free(kernel);
                ssm2d_workspace_destroy(workspace);
                ssm2d_plan_destroy(plan);
            }
        free(want), free(got);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Forward against the plain layer; float gradients against double ones (which have tests of their
 * own). */
static int check_layer(ssm2d_context *context, const problem *p, layout in, layout out)
{
    double *y = doubles(p->cells);
    oracle_forward(&p->config, p->params, p->batch, p->rows, p->cols, p->u, y);
    answer first = {0};
    const char *algorithm;
    int wrong = 0;
    for (int k = 0; (algorithm = serves(p, &k)); k++)
        for (int type = SSM2D_DOUBLE; type >= SSM2D_FLOAT; type--) {
            char what[480], part[500];
            snprintf(what, sizeof what, "%s %s layouts %d, %d %s", algorithm, type_names[type], in,
                     out, problem_text(p));
            answer a = run(context, p, (ssm2d_type)type, algorithm, in, out);
            /* LayerNorm divides by the spread over channels, which may be small: float keeps fewer
             * digits there */
            double forward = allowed[type],
                   backward = type == SSM2D_FLOAT && p->config.layer_norm ? 3e-4 : allowed[type];
            if (type == SSM2D_FLOAT && p->config.layer_norm) forward = 1e-4;
            snprintf(part, sizeof part, "y %s", what);
            wrong += differs(part, a.y, y, p->cells, forward);
            if (first.y) {
                snprintf(part, sizeof part, "du %s", what);
                wrong += differs(part, a.du, first.du, p->cells, backward);
                wrong += gradients_differ(p, what, a.dparams, first.dparams, backward);
                answer_free(&a);
            } else
                first = a;
        }
    answer_free(&first);
    free(y);
    return wrong;
}

static void layer_agrees_with_oracle(void **state)
{
    (void)state;
    static const size_t batches[] = {1, 2, 3, 5, 7};
    rng r = rng_seed(3);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < LAYER_CASES; i++) {
        ssm2d_config config = random_config(&r);
        const size_t cols = 1 + (size_t)below(&r, 10), rows = 1 + (size_t)below(&r, 10),
                     batch = batches[below(&r, 5)];
        problem p = problem_make(config, batch, rows, cols, &r);
        const layout out = (layout)below(&r, LAYOUTS), in = (layout)below(&r, LAYOUTS);
        wrong += check_layer(context, &p, in, out);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Grids at and around the sizes where blocked code changes its path, and the paper's own shapes. */
static void layer_agrees_at_sizes_of_the_paper(void **state)
{
    (void)state;
    static const struct {
        size_t batch, rows, cols;
        int channels;
    } shapes[] = {{3, 8, 8, 24},   {2, 7, 7, 40},  {1, 14, 14, 33}, {2, 16, 16, 17},
                  {1, 15, 17, 64}, {1, 3, 33, 31}, {1, 33, 3, 6},   {1, 20, 13, 5}};
    rng r = rng_seed(4);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int directions = 1; directions <= 4; directions *= 2) {
            ssm2d_config config = ssm2d_config_default();
            config.channels = shapes[i].channels;
            config.directions = directions;
            problem p = problem_make(config, shapes[i].batch, shapes[i].rows, shapes[i].cols, &r);
            wrong += check_layer(context, &p, DENSE, DENSE);
            problem_free(&p);
        }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernel_is_a_sum_over_paths),
                                       cmocka_unit_test(kernel_agrees_with_recursion),
                                       cmocka_unit_test(layer_agrees_with_oracle),
                                       cmocka_unit_test(layer_agrees_at_sizes_of_the_paper)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
