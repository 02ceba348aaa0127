/* The memory of a graph: what is recomputed, shared, placed and cleared, and running out of memory.
 * In double. */
#include "graph_fixture.h"
#include "graph_helpers.h"

#include "graph/planner.h"
#include "ops/ops.h"

static int visits_of(const graph *g, visit_kind kind)
{
    const memory_plan *p = g->plan;
    int count = 0;
    for (int i = 0; i < p->visits; i++) count += p->visit[i].kind == kind;
    return count;
}

static tensor *mlp(graph *g, int depth)
{
    const size_t in[] = {64, 32};
    tensor *x = graph_input(g, "x", 2, in);
    for (int i = 0; i < depth; i++) {
        tensor *h = linear(g, x, graph_param(g, spec_of(2, (size_t[]){128, 32}), "up%d", i), NULL);
        h = linear(g, gelu(g, h), graph_param(g, spec_of(2, (size_t[]){32, 128}), "down%d", i),
                   NULL);
        x = add(g, x, h);
    }
    return x;
}

static void memory_is_used_again(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    size_t training[2], inference[2];
    for (int i = 0; i < 2; i++) {
        for (int train = 0; train < 2; train++) {
            graph *g = graph_of(context, train);
            finish(g, mlp(g, 4 << i));
            (train ? training : inference)[i] = g->bytes;
            assert_int_equal(visits_of(g, VISIT_RECOMPUTE),
                             train ? 4 << i : 0); /* every GELU, once */
            assert_int_equal(visits_of(g, VISIT_BACKWARD), train ? 16 << i : 0);
            graph_destroy(g);
        }
    }
    /* one more layer costs its hidden values and its residual, but not the output of its GELU;
     * inference costs none, but for the time of each node of a chain */
    assert_int_equal((training[1] - training[0]) / 4, 64 * (128 + 32) * sizeof(double));
    assert_int_equal(inference[1] - inference[0], 16 * sizeof(double));
    ssm2d_context_destroy(context);
}

/* The lowest offset at which s fits, the first `placed` spans being where they are. */
static size_t lowest_fit(const span *spans, int placed, const span *s)
{
    size_t offset = 0;
    for (int moved = 1; moved;) {
        moved = 0;
        for (int k = 0; k < placed; k++) {
            const span *o = &spans[k];
            if (o->last < s->first || s->last < o->first) continue;
            if (offset + s->bytes <= o->offset || o->offset + o->bytes <= offset) continue;
            offset = o->offset + o->bytes;
            moved = 1;
        }
    }
    return offset;
}

static void spans_are_placed_by_first_fit(void **state)
{
    (void)state;
    enum { SPANS = 120, VISITS = 75 };
    ssm2d_context *context = context_of(1);
    for (uint64_t seed = 0; seed < 200; seed++) {
        rng r = rng_seed(seed);
        span spans[SPANS];
        size_t bytes, top = 0;
        const int sizes = 1 + below(&r, SPANS);
        for (int i = 0; i < SPANS; i++) { /* the largest come first, as they are placed */
            int a = below(&r, VISITS + 1), b = below(&r, VISITS + 1);
            if (below(&r, 2)) b = a + below(&r, 4) < VISITS ? a + below(&r, 4) : a;
            spans[i] = (span){.bytes = 64 * (size_t)(1 + (SPANS - i) * sizes / SPANS),
                              .first = a < b ? a : b,
                              .last = a < b ? b : a,
                              .same = SPAN_NONE};
        }
        assert_true(place_spans(context, spans, SPANS, VISITS, &bytes));
        for (int i = 0; i < SPANS; i++) {
            assert_int_equal(spans[i].offset, lowest_fit(spans, i, &spans[i]));
            top = spans[i].offset + spans[i].bytes > top ? spans[i].offset + spans[i].bytes : top;
        }
        assert_int_equal(bytes, top);
    }
    ssm2d_context_destroy(context);
}

/* Planning takes time proportional to the nodes; if it were quadratic, this would take minutes. */
static void deep_graphs_are_planned(void **state)
{
    (void)state;
    enum { DEPTH = 4000 };
    ssm2d_context *context = context_of(1);
    graph *g = graph_of(context, 1);
    tensor *x = graph_input(g, "x", 2, (size_t[]){2, 3});
    for (int i = 0; i < DEPTH; i++)
        x = add(
            g, x,
            gelu(g, linear(g, x, graph_param(g, spec_of(2, (size_t[]){3, 3}), "w%d", i), NULL)));
    finish(g, x);
    assert_ptr_equal(graph_find(g, "w3999"), g->nodes[3 * DEPTH - 3]->in[1]);
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

/* Columns of a gradient that no node writes are cleared, and only those. */
static void unwritten_columns_are_cleared(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    for (int all = 0; all < 2; all++) {
        graph *g = graph_of(context, 1);
        tensor *x = scale(g, graph_param(g, spec_of(2, (size_t[]){4, 9}), "x"), 2);
        tensor *y = gate(g, columns(g, x, 0, 3), columns(g, x, all ? 3 : 4, 3));
        y = all ? gate(g, y, columns(g, x, 6, 3)) : y;
        finish(g, y);
        /* columns 3 and [7, 9) */
        assert_int_equal(visits_of(g, VISIT_CLEAR), all ? 0 : 2);
        graph_destroy(g);
    }
    ssm2d_context_destroy(context);
}

/* Along residuals the gradient stays where it is. */
static void residuals_share_their_gradient(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    graph *g = graph_of(context, 1);
    tensor *out = mlp(g, 4);
    finish(g, scale(g, out, 2));
    int adds = 0;
    for (int i = 4; i < g->node_count; i++) /* the first one's residual is the input */
        if (!strcmp(g->nodes[i]->op->name, "add")) {
            assert_ptr_equal(g->nodes[i]->in[0]->grad, g->nodes[i]->out->grad);
            assert_ptr_equal(g->nodes[i]->in[1]->grad, g->nodes[i]->out->grad);
            adds++;
        }
    assert_int_equal(adds, 3);
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

/* Calls everything that allocates; returns whether all succeeded. */
static int build_all(long fail_at)
{
    counter c = {.fail_at = -1};
    ssm2d_context *context = counting_context(&c);
    ssm2d_error error = {"untouched"};
    const size_t tokens[] = {2, 7, 6};
    ssm2d_config config = ssm2d_config_default();
    config.channels = 6;
    graph *g = NULL;
    const long before = c.live;
    c.fail_at = c.calls + fail_at;
    ssm2d_status status = graph_create(context, 1, &g, &error);
    if (!status) {
        tensor *x = graph_input(g, "x", 3, tokens);
        for (int i = 0; i < 70; i++) x = gelu(g, scale(g, x, 0.5));
        tensor *params = graph_param(g, spec_of(1, (size_t[]){param_total(&config)}), "mixer");
        const ssm2d_layer layer = layer_2d(&config);
        x = mix_layer(g, x, params, &layer, (token_grid){1, ssm2d_grid_2d(2, 3)});
        x = merge(g, attention(g, x, 2), 7, 1);
        status = graph_finish(g, x, &error);
    }
    const int failed = c.calls > c.fail_at;
    graph_destroy(g);
    assert_int_equal(c.live, before);
    ssm2d_context_destroy(context);
    if (!failed) assert_int_equal(status, SSM2D_OK);
    if (!failed) return 1;
    assert_int_equal(status, SSM2D_ERROR_MEMORY);
    says(&error, "out of memory: ", "");
    return 0;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    long n = 0;
    while (!build_all(n)) n++;
    assert_true(n > 140 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(spans_are_placed_by_first_fit),
        cmocka_unit_test(deep_graphs_are_planned),
        cmocka_unit_test(unwritten_columns_are_cleared),
        cmocka_unit_test(residuals_share_their_gradient),
        cmocka_unit_test(any_allocation_may_fail),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
