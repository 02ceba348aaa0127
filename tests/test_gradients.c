/* Gradients against differences of the oracle's loss sum(dy * y), and how they are handed over.
 *
 * Four points per derivative: (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h, good to about
 * 1e-10. */
#include "oracle.h"
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double STEP = 3e-4, LIMIT = 1e-8;

static double loss(const problem *p, const double *kernel, double *scratch)
{
    oracle_apply(&p->config, p->params, kernel, p->batch, p->rows, p->cols, p->u, scratch);
    double sum = 0;
    for (size_t i = 0; i < p->cells; i++) sum += p->dy[i] * scratch[i];
    return sum;
}

/* dLoss/dx for an element x of p. If the kernel depends on x it is recomputed, and afterwards is
 * that of x - 2h. */
static double derivative(const problem *p, double *x, int behind_kernel, double *kernel,
                         double *scratch)
{
    static const double offsets[4] = {1, -1, 2, -2}, weights[4] = {8, -8, -1, 1};
    double keep = *x, sum = 0;
    for (int k = 0; k < 4; k++) {
        *x = keep + offsets[k] * STEP;
        if (behind_kernel)
            oracle_kernel(&p->config, p->params, BY_RECURSION, p->rows, p->cols, kernel);
        sum += weights[k] * loss(p, kernel, scratch);
    }
    *x = keep;
    return sum / (12 * STEP);
}

static void differences(const problem *p, double *du, double *dparams)
{
    double *kernel = doubles(p->taps), *scratch = doubles(p->cells);
    oracle_kernel(&p->config, p->params, BY_RECURSION, p->rows, p->cols, kernel);
    for (size_t i = 0; i < p->cells; i++) du[i] = derivative(p, p->u + i, 0, kernel, scratch);
    ssm2d_param q;
    for (int k = 0; param_get(&p->config, k, &q); k++) {
        for (size_t i = q.offset; i < q.offset + q.count; i++)
            dparams[i] = derivative(p, p->params + i, q.name[0] <= 'C', kernel, scratch);
        oracle_kernel(&p->config, p->params, BY_RECURSION, p->rows, p->cols, kernel);
    }
    free(kernel), free(scratch);
}

static int check_gradients(ssm2d_context *context, const problem *p)
{
    double *du = doubles(p->cells), *dparams = doubles(p->total);
    differences(p, du, dparams);
    const char *algorithm;
    int wrong = 0;
    for (int k = 0; (algorithm = serves(p, &k)); k++) {
        char what[400];
        snprintf(what, sizeof what, "%s %s", algorithm, problem_text(p));
        answer a = run(context, p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
        wrong += differs(what, a.du, du, p->cells, LIMIT);
        wrong += gradients_differ(p, what, a.dparams, dparams, LIMIT);
        answer_free(&a);
    }
    free(du), free(dparams);
    return wrong;
}

/* Every norm, value type and set of directions, with LayerNorm and without; the other options at
 * random. */
static void gradients_are_differences(void **state)
{
    (void)state;
    rng r = rng_seed(31);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    /* 5 is coprime to the numbers of choices, so that all of them occur */
    for (int i = 0; i < 4 * 3 * 2 * 4; i += short_tests() ? 5 : 1) {
        ssm2d_config config = random_config(&r);
        config.norm = (ssm2d_norm)(i % 4);
        config.values = (ssm2d_values)(i / 4 % 3);
        config.layer_norm = i / 12 % 2;
        config.directions = i / 24 == 0 ? 1 : i / 24 == 3 ? 4 : 2;
        config.pair = i / 24 == 2 ? SSM2D_PAIR_COLUMNS : SSM2D_PAIR_BOTH;
        config.channels = config.layer_norm ? 4 + below(&r, 2) : 1 + below(&r, 4);
        config.d_state = 1 + below(&r, 2);
        config.n_ssm = 1 + below(&r, 3);
        config.trunc_rows = below(&r, 4) ? 0 : 1 + below(&r, 4);
        config.trunc_cols = below(&r, 4) ? 0 : 1 + below(&r, 4);
        const size_t cols = 1 + (size_t)below(&r, 4), rows = 1 + (size_t)below(&r, 4),
                     batch = 1 + (size_t)below(&r, 2);
        problem p = problem_make(config, batch, rows, cols, &r);
        wrong += check_gradients(context, &p);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* On larger problems, the derivative along a random direction in all elements at once. */
static void derivative_along_a_direction(void **state)
{
    (void)state;
    rng r = rng_seed(32);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < (short_tests() ? 8 : 24); i++) {
        ssm2d_config config = random_config(&r);
        const size_t cols = 4 + (size_t)below(&r, 12), rows = 4 + (size_t)below(&r, 12),
                     batch = 1 + (size_t)below(&r, 2);
        problem p = problem_make(config, batch, rows, cols, &r);
        double *kernel = doubles(p.taps), *scratch = doubles(p.cells), *du = doubles(p.cells),
               *dp = doubles(p.total);
        problem moved = p;
        moved.u = doubles(p.cells);
        moved.params = doubles(p.total);
        for (size_t k = 0; k < p.cells; k++) du[k] = 0.1 * rng_normal(&r);
        for (size_t k = 0; k < p.total; k++) dp[k] = 0.1 * rng_normal(&r);
        static const double offsets[4] = {1, -1, 2, -2}, weights[4] = {8, -8, -1, 1};
        double want = 0, size = 0;
        for (int s = 0; s < 4; s++) {
            for (size_t k = 0; k < p.cells; k++) moved.u[k] = p.u[k] + offsets[s] * STEP * du[k];
            for (size_t k = 0; k < p.total; k++)
                moved.params[k] = p.params[k] + offsets[s] * STEP * dp[k];
            oracle_kernel(&config, moved.params, BY_RECURSION, p.rows, p.cols, kernel);
            want += weights[s] * loss(&moved, kernel, scratch) / (12 * STEP);
        }
        const char *algorithm;
        for (int k = 0; (algorithm = serves(&p, &k)); k++) {
            answer a = run(context, &p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
            double got = 0;
            size = 0;
            for (size_t j = 0; j < p.cells; j++)
                got += a.du[j] * du[j], size += a.du[j] * du[j] * a.du[j] * du[j];
            for (size_t j = 0; j < p.total; j++)
                got += a.dparams[j] * dp[j], size += a.dparams[j] * dp[j] * a.dparams[j] * dp[j];
            if (!((got - want) * (got - want) <= 1e-14 * size)) {
                print_error("%s %s: derivative is %.15g, not %.15g\n", algorithm, problem_text(&p),
                            got, want);
                wrong++;
            }
            answer_free(&a);
        }
        free(kernel), free(scratch), free(du), free(dp), free(moved.u), free(moved.params);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Gradients are added to what is there; either may be left out without a change to the other. */
static void gradients_are_added(void **state)
{
    (void)state;
    rng r = rng_seed(33);
    ssm2d_context *context = context_of(2);
    const char *algorithm;
    int wrong = 0;
    for (int variant = 0; variant < 6; variant++)
        for (int k = 0; (algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++) {
            ssm2d_config config = ssm2d_config_default();
            config.channels = 11;
            config.d_state = 3;
            config.n_ssm = 2;
            config.directions = 4;
            config.values = (ssm2d_values)(variant % 3);
            config.layer_norm = variant / 3;
            problem p = problem_make(config, 3, 6, 5, &r);
            answer a = run(context, &p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
            ssm2d_plan *plan = plan_of(context, &p, SSM2D_DOUBLE, algorithm);
            ssm2d_workspace *workspace = workspace_of(plan);
            double *y = doubles(p.cells), *du = doubles(p.cells), *dparams = doubles(p.total),
                   *alone = doubles(p.total);
            double *wanted_du = doubles(p.cells), *wanted = doubles(p.total),
                   *alone_du = doubles(p.cells);
            for (size_t i = 0; i < p.cells; i++)
                wanted_du[i] = 2 * a.du[i] + (du[i] = 0.25 * (double)i);
            for (size_t i = 0; i < p.total; i++)
                wanted[i] = 2 * a.dparams[i] + (dparams[i] = 0.5 * (double)i);
            plan_forward(plan, workspace, p.params, p.u, y);
            plan_backward(plan, workspace, p.params, p.u, p.dy, du, dparams);
            /* a second time after one forward */
            plan_backward(plan, workspace, p.params, p.u, p.dy, du, dparams);
            wrong += differs("du twice", du, wanted_du, p.cells, 1e-11);
            wrong += differs("dparams twice", dparams, wanted, p.total, 1e-11);
            plan_forward(plan, workspace, p.params, p.u, y);
            plan_backward(plan, workspace, p.params, p.u, p.dy, NULL, alone);
            plan_forward(plan, workspace, p.params, p.u, y);
            plan_backward(plan, workspace, p.params, p.u, p.dy, alone_du, NULL);
            wrong += bits_differ("dparams alone", alone, a.dparams, p.total);
            wrong += bits_differ("du alone", alone_du, a.du, p.cells);
            plan_backward(plan, workspace, p.params, p.u, p.dy, NULL, NULL);
            /* prepare and apply are a forward too, and the kernel's own gradient is added as
             * well */
            memset(alone, 0, p.total * sizeof *alone);
            plan_prepare(plan, workspace, p.params);
            plan_apply(plan, workspace, p.u, y);
            plan_backward(plan, workspace, p.params, p.u, p.dy, NULL, alone);
            wrong += bits_differ("y after prepare and apply", y, a.y, p.cells);
            wrong += bits_differ("dparams after prepare and apply", alone, a.dparams, p.total);
            double *dkernel = doubles(p.taps), *once = doubles(p.total);
            for (size_t i = 0; i < p.taps; i++) dkernel[i] = rng_normal(&r);
            plan_kernel_backward(plan, workspace, p.params, dkernel, once);
            memset(alone, 0, p.total * sizeof *alone);
            plan_kernel_backward(plan, workspace, p.params, dkernel, alone);
            plan_kernel_backward(plan, workspace, p.params, dkernel, alone);
            for (size_t i = 0; i < p.total; i++) once[i] *= 2;
            wrong += differs("kernel_backward twice", alone, once, p.total, 1e-13);
            free(y), free(du), free(dparams), free(alone), free(wanted_du), free(wanted),
                free(alone_du), free(dkernel), free(once);
            ssm2d_workspace_destroy(workspace);
            ssm2d_plan_destroy(plan);
            answer_free(&a);
            problem_free(&p);
        }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_differences),
                                       cmocka_unit_test(derivative_along_a_direction),
                                       cmocka_unit_test(gradients_are_added)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
