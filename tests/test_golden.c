/* Every golden case in float and double with every algorithm, and the oracle against the same
 * arrays. */
#include "case.h"
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>

static const double allowed[2] = {1e-5, 1e-12};

typedef struct visitor {
    ssm2d_context *context;
    int wrong;
} visitor;

static void check_oracle(const char *folder, void *arg)
{
    visitor *v = arg;
    golden_case c = case_read(v->context, folder);
    const problem *p = &c.problem;
    char what[256];
    double *kernel = doubles(p->taps), *y = doubles(p->cells);
    oracle_kernel(&p->config, p->params, BY_RECURSION, p->rows, p->cols, kernel);
    oracle_forward(&p->config, p->params, p->batch, p->rows, p->cols, p->u, y);
    snprintf(what, sizeof what, "%s oracle K", folder);
    v->wrong += differs(what, kernel, c.kernel, p->taps, 1e-12);
    snprintf(what, sizeof what, "%s oracle y", folder);
    v->wrong += differs(what, y, c.y, p->cells, 1e-12);
    if (p->rows + p->cols <= 8) {
        oracle_kernel(&p->config, p->params, BY_PATHS, p->rows, p->cols, kernel);
        snprintf(what, sizeof what, "%s sum over paths", folder);
        v->wrong += differs(what, kernel, c.kernel, p->taps, 1e-12);
    }
    free(kernel);
    free(y);
    case_free(&c);
}

static void oracle_agrees_with_golden_cases(void **state)
{
    visitor v = {context_of(1), 0};
    (void)state;
    assert_int_equal(each_case("ssm2d", check_oracle, &v), 32);
    ssm2d_context_destroy(v.context);
    assert_int_equal(v.wrong, 0);
}

/* K given dK: only the gradients of A, B and C; D, gamma and beta are not part of the kernel. */
static int check_kernel_gradient(ssm2d_context *context, const char *what, const golden_case *c,
                                 ssm2d_type type, const char *algorithm)
{
    const problem *p = &c->problem;
    ssm2d_plan *plan = plan_of(context, p, type, algorithm);
    ssm2d_workspace *workspace = workspace_of(plan);
    double *got = doubles(p->total), *want = doubles(p->total);
    void *params = convert(type, p->params, p->total), *dparams = convert(type, got, p->total);
    void *dkernel = convert(type, c->dkernel, p->taps);
    plan_kernel_backward(plan, workspace, params, dkernel, dparams);
    convert_back(type, dparams, got, p->total);
    ssm2d_param q;
    for (int i = 0; param_get(&p->config, i, &q); i++)
        for (size_t j = 0; j < q.count && q.name[0] <= 'C'; j++)
            want[q.offset + j] = c->dparams[q.offset + j];
    int wrong = gradients_differ(p, what, got, want, allowed[type]);
    free(params), free(dparams), free(dkernel), free(got), free(want);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return wrong;
}

static void check_case(const char *folder, void *arg)
{
    visitor *v = arg;
    golden_case c = case_read(v->context, folder);
    const problem *p = &c.problem;
    const char *algorithm;
    for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
        for (int i = 0; (algorithm = serves(p, &i)); i++)
            for (layout l = DENSE; l <= CHANNEL_FIRST; l++) {
                char what[256], part[300];
                snprintf(what, sizeof what, "%s %s %s%s", folder, type_names[type], algorithm,
                         l ? " channel-first" : "");
                answer a = run(v->context, p, (ssm2d_type)type, algorithm, l, l);
                snprintf(part, sizeof part, "%s K", what);
                v->wrong += differs(part, a.kernel, c.kernel, p->taps, allowed[type]);
                snprintf(part, sizeof part, "%s y", what);
                v->wrong += differs(part, a.y, c.y, p->cells, allowed[type]);
                snprintf(part, sizeof part, "%s du", what);
                v->wrong += differs(part, a.du, c.du, p->cells, allowed[type]);
                v->wrong += gradients_differ(p, what, a.dparams, c.dparams, allowed[type]);
                answer_free(&a);
                snprintf(part, sizeof part, "%s kernel_backward", what);
                if (l == DENSE)
                    v->wrong +=
                        check_kernel_gradient(v->context, part, &c, (ssm2d_type)type, algorithm);
            }
    case_free(&c);
}

static void layer_agrees_with_golden_cases(void **state)
{
    visitor v = {context_of(2), 0};
    (void)state;
    assert_non_null(ssm2d_kind_algorithm("ssm2d", 0));
    assert_int_equal(each_case("ssm2d", check_case, &v), 32);
    ssm2d_context_destroy(v.context);
    assert_int_equal(v.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(oracle_agrees_with_golden_cases),
                                       cmocka_unit_test(layer_agrees_with_golden_cases)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
