/* Grids of every size: algorithms against each other where the oracle would be too slow, and the
 * largest supported grid. */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_config small_config(int channels, int d_state, int n_ssm, int directions)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = channels;
    c.d_state = d_state;
    c.n_ssm = n_ssm;
    c.directions = directions;
    return c;
}

/* All algorithms agree with the first. */
static int algorithms_agree(const problem *p, ssm2d_type type, int from, double forward_limit,
                            double backward_limit)
{
    ssm2d_context *context = context_of(2);
    answer first = run(context, p, type, ssm2d_kind_algorithm("ssm2d", from), DENSE, DENSE);
    const char *algorithm;
    int wrong = 0;
    for (int k = from + 1; (algorithm = serves(p, &k)); k++) {
        char what[400];
        snprintf(what, sizeof what, "%s against %s %s %s", algorithm,
                 ssm2d_kind_algorithm("ssm2d", from), type_names[type], problem_text(p));
        answer a = run(context, p, type, algorithm, DENSE, DENSE);
        wrong += differs(what, a.kernel, first.kernel, p->taps, forward_limit);
        wrong += differs(what, a.y, first.y, p->cells, forward_limit);
        wrong += differs(what, a.du, first.du, p->cells, forward_limit);
        wrong += gradients_differ(p, what, a.dparams, first.dparams, backward_limit);
        answer_free(&a);
    }
    answer_free(&first);
    ssm2d_context_destroy(context);
    return wrong;
}

static void prime_grid_agrees_with_oracle(void **state)
{
    (void)state;
    rng r = rng_seed(14);
    int wrong = 0;
    const size_t rows = short_tests() ? 31 : 67, cols = short_tests() ? 67 : 131;
    for (int variant = 0; variant < 3; variant++) {
        ssm2d_config config = small_config(3, 3, 1, variant == 1 ? 4 : 1 + (variant == 2));
        config.values = (ssm2d_values)variant;
        config.trunc_rows = variant == 2 ? 29 : 0;
        problem p = problem_make(config, 1, rows, cols, &r);
        wrong += algorithms_agree(&p, SSM2D_DOUBLE, 0, 1e-11, 1e-11);
        wrong += algorithms_agree(&p, SSM2D_FLOAT, 0, 3e-5, 1e-4);
        problem_free(&p);
    }
    assert_int_equal(wrong, 0);
}

/* Every length up to some size, so that every length of transform and every remainder of a block
 * occurs. */
static void every_length_agrees_with_oracle(void **state)
{
    (void)state;
    rng r = rng_seed(20);
    int wrong = 0;
    for (size_t n = 1; n <= 72; n++) {
        ssm2d_config config = small_config(3, 2, 1, n % 3 == 0 ? 4 : 2);
        problem tall = problem_make(config, 1 + n % 2, n, 3 + n % 4, &r),
                wide = problem_make(config, 1 + n % 2, 2 + n % 5, n, &r);
        wrong += algorithms_agree(&tall, SSM2D_DOUBLE, 0, 1e-11, 1e-11);
        wrong += algorithms_agree(&wide, SSM2D_FLOAT, 0, 3e-5, 3e-5);
        problem_free(&tall), problem_free(&wide);
    }
    assert_int_equal(wrong, 0);
}

/* Too large for the plain convolution: every other algorithm, and the plain one with a short
 * kernel. */
static void algorithms_agree_on_large_grid(void **state)
{
    (void)state;
    rng r = rng_seed(15);
    ssm2d_config config = small_config(2, 2, 1, 2);
    problem p = problem_make(config, 1, 512, 384, &r);
    int first = strcmp(ssm2d_kind_algorithm("ssm2d", 0), "direct") == 0, wrong = 0;
    if (ssm2d_kind_algorithm("ssm2d", first))
        wrong += algorithms_agree(&p, SSM2D_DOUBLE, first, 1e-10, 1e-10);
    problem_free(&p);
    config.trunc_rows = 5;
    config.trunc_cols = 9;
    p = problem_make(config, 1, 512, 384, &r);
    wrong += algorithms_agree(&p, SSM2D_FLOAT, 0, 3e-5, 3e-4);
    problem_free(&p);
    assert_int_equal(wrong, 0);
}

/* The largest supported grid: the response to one impulse, whose first row and column have a closed
 * form. */
static void largest_grid_has_closed_form_response(void **state)
{
    (void)state;
    enum { SIDE = 4096 };
    rng r = rng_seed(19);
    ssm2d_context *context = context_of(2);
    ssm2d_config config = small_config(1, 1, 1, 1);
    config.skip = 0;
    problem p = problem_make(config, 1, 1, 1, &r);
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.grid = ssm2d_grid_2d(SIDE, SIDE);
    o.algorithm = "scan";
    o.inference = 1;
    ssm2d_plan *plan;
    ssm2d_error error;
    if (plan_create(context, &config, &o, &plan, &error)) fail_msg("%s", error.line);
    assert_true(ssm2d_plan_bytes(plan) < 16 << 20); /* rows of state, not images of it */
    ssm2d_workspace *workspace = workspace_of(plan);
    const double raw[8] = {9, 1, -1, 8, 1, -0.5, 0.75, -0.5}; /* a1 and a4 near 1: a long memory */
    float *params = convert(SSM2D_FLOAT, raw, 8), *u = calloc((size_t)SIDE * SIDE, sizeof *u),
          *y = calloc((size_t)SIDE * SIDE, sizeof *y);
    u[0] = 1;
    plan_forward(plan, workspace, params, u, y);
    double a[6], across[SIDE], down[SIDE], first_row[SIDE], first_column[SIDE];
    for (int i = 0; i < 6; i++) a[i] = 1 / (1 + exp(-raw[i]));
    across[0] = down[0] = 0.75 * a[4] - 0.5 * a[5];
    for (int i = 1; i < SIDE; i++) {
        across[i] = i == 1 ? 0.75 * (a[0] * a[4] + a[1] * a[5]) : a[0] * across[i - 1];
        down[i] = i == 1 ? -0.5 * (a[2] * a[4] + a[3] * a[5]) : a[3] * down[i - 1];
    }
    int wrong = 0;
    for (size_t i = 0; i < SIDE; i++) {
        first_row[i] = (double)y[i];
        first_column[i] = (double)y[i * SIDE];
    }
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) wrong += !isfinite(y[i]);
    wrong += differs("first row", first_row, across, SIDE, 1e-3); /* float, 4096 products */
    wrong += differs("first column", first_column, down, SIDE, 1e-3);
    free(params), free(u), free(y);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    problem_free(&p);
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prime_grid_agrees_with_oracle),
                                       cmocka_unit_test(every_length_agrees_with_oracle),
                                       cmocka_unit_test(algorithms_agree_on_large_grid),
                                       cmocka_unit_test(largest_grid_has_closed_form_response)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
