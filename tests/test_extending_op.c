/* What a newcomer adds as an operator: one file with forward, backward and descriptor, here
 * y = x / (1 + a |x|), and one line of ops.def, which would declare its builder. It goes into
 * graphs, gets its gradient checks from an example, and is read by its attributes. */
#include "op_builders.h"
#include "op_checks.h"
#include "ops/elementwise.h"
#include "problem.h"

#include <math.h>

/* ---- src/ops/softsign.c ---------------------------------------------------------------------- */

typedef struct softsign_attributes {
    double slope; /* a */
} softsign_attributes;

static const op_attribute attributes[] = {
    {"slope", ATTRIBUTE_REAL, offsetof(softsign_attributes, slope)}, {0}};

static real slope_of(const node *n)
{
    const softsign_attributes *a = n->attributes;
    return (real)a->slope;
}

static void forward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real a = slope_of(n), *x = row_data(n->in[0], row);
    real *y = row_data(n->out, row);
    for (size_t i = first; i < end; i++) y[i] = x[i] / (1 + a * (real)fabs((double)x[i]));
}

/* dy/dx = 1 / (1 + a |x|)^2 */
static void backward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real a = slope_of(n), *x = row_data(n->in[0], row), *dy = row_grad(n->out, row);
    real *dx = row_grad(n->in[0], row);
    for (size_t i = first; i < end; i++) {
        const real below = 1 + a * (real)fabs((double)x[i]);
        dx[i] = dy[i] / (below * below) + (n->adds[0] ? dx[i] : 0);
    }
}

static void forward(const graph *g, const node *n) { elementwise(g, n, forward_part); }
static void backward(const graph *g, const node *n) { elementwise(g, n, backward_part); }

static const op op_softsign = {.name = "softsign",
                               .reads_in = 1,
                               .cheap = 1,
                               .strided_in = 1,
                               .forward = forward,
                               .backward = backward,
                               .attributes = attributes};

static tensor *softsign(graph *g, tensor *x, double slope)
{
    if (g->status) return NULL;
    if (!(slope >= 0)) return graph_fail(g, "softsign: the slope is %g, not >= 0", slope);
    const softsign_attributes a = {slope};
    node *n = graph_add(g, &op_softsign, 1, &x, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}

/* ---- its example ----------------------------------------------------------------------------- */

static tensor *example(maker *m, int v)
{
    static const size_t shape[][2] = {{3, 7}, {1, 1}, {130, 257}, {5, 19}};
    return softsign(m->g, v == 3 ? give_columns(m, 2, shape[v]) : give(m, 2, shape[v]), 1.5);
}

const op_builder added_examples[] = {{"softsign", 4, example}, {NULL, 0, NULL}};

/* ---------------------------------------------------------------------------------------------- */

static void gradients_are_slopes(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    assert_int_equal(TRIAL.variants("softsign"), 4);
    assert_int_equal(op_gradients_wrong(&TRIAL, context, "softsign"), 0);
    ssm2d_context_destroy(context);
}

static void new_operator_is_listed(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    ssm2d_error error;
    graph *g;
    real w[6] = {1, 2, 3, -1, -2, -3}, x[3] = {1, -1, 2};
    assert_int_equal(graph_create(context, 0, &g, &error), SSM2D_OK);
    tensor *in = graph_input(g, "x", 2, (size_t[]){1, 3});
    tensor *y = linear(g, in, graph_param(g, spec_of(2, (size_t[]){2, 3}), "w"), NULL);
    y = scale(g, softsign(g, y, 0.5), 2);
    if (graph_finish(g, y, &error)) fail_msg("%s", error.line);
    graph_bind(g, w, NULL);
    tensor_place(in, x);
    graph_forward(g);
    /* W x = (5, -5), and 2 * 5 / (1 + 0.5 * 5) = 20/7 */
    assert_true(fabs((double)y->data[0] - 20.0 / 7) < 1e-12);
    assert_true(fabs((double)y->data[1] + 20.0 / 7) < 1e-12);
    assert_true(fabs(node_real(g->nodes[1], "slope") - 0.5) <= 0);
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

static void new_operator_refuses_with_a_message(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    for (int i = 0; i < 2; i++) {
        graph *g;
        assert_int_equal(graph_create(context, 0, &g, NULL), SSM2D_OK);
        tensor *x = graph_input(g, "x", 2, (size_t[]){1, 3});
        if (i) x = convert_to(g, x, ELEMENT_BFLOAT16, 0);
        assert_null(softsign(g, x, i ? 1 : -1));
        assert_non_null(strstr(g->error.line, "softsign"));
        assert_non_null(strstr(g->error.line, i ? "bfloat16" : "-1"));
        graph_destroy(g);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_slopes),
                                       cmocka_unit_test(new_operator_is_listed),
                                       cmocka_unit_test(new_operator_refuses_with_a_message)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
