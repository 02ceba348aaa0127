/* The graph: random ones against central differences (which detects values and gradients that
 * wrongly share memory), and the search for values that are not finite. In double. */
#include "graph_fixture.h"
#include "graph_helpers.h"

#include "graph/graph_impl.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MANY_ROWS are enough for chains of operators that work row by row, for every number of threads
 * here (graph/row_chains.h). */
enum { ROWS = 3, MANY_ROWS = 101, COLS = 5, MOST = 64 };

static const size_t few[] = {ROWS, COLS}, many[] = {MANY_ROWS, COLS};
static const size_t *shape = few; /* of what random graphs work on */

/* ---- random graphs --------------------------------------------------------------------------- */

/* Views of a wider tensor, which may overlap or not cover it; sometimes the tensor itself is used
 * as well. */
static tensor *of_views(graph *g, tensor *x, rng *r)
{
    enum { WIDE = 3 * COLS };
    tensor *wide = linear(g, x, graph_param(g, spec_of(2, (size_t[]){WIDE, COLS}), "wide"), NULL),
           *y;
    if (below(r, 2)) wide = below(r, 2) ? gelu(g, wide) : scale(g, wide, 0.7);
    y = columns(g, wide, (size_t)below(r, WIDE - COLS + 1), COLS);
    for (int i = below(r, 4); i >= 0; i--) {
        tensor *z = columns(g, wide, (size_t)below(r, WIDE - COLS + 1), COLS);
        switch (below(r, 4)) {
        case 0: y = add(g, y, z); break;
        case 1: y = scale(g, gate(g, y, z), 0.4); break;
        case 2: y = add(g, y, contiguous(g, z)); break;
        default: y = add(g, y, gelu(g, z)); break;
        }
    }
    if (below(r, 3) == 0)
        y = add(g, y,
                linear(g, add(g, wide, scale(g, wide, 0.5)),
                       graph_param(g, spec_of(2, (size_t[]){COLS, WIDE}), "back"), NULL));
    return scale(g, y, 0.2);
}

/* Nodes take existing tensors, mostly recent ones; unused tensors are added up in the end. */
static tensor *random_model(graph *g, uint64_t seed)
{
    rng r = rng_seed(seed);
    tensor *made[MOST], *out = NULL;
    int used[MOST] = {0}, count = 0, params = 1 + below(&r, 3), nodes = 2 + below(&r, 20);
    const int most_adds = below(&r, 2);
    for (; count < params; count++) made[count] = graph_param(g, spec_of(2, shape), "p%d", count);
    made[count++] = graph_input(g, "x", 2, shape);
    for (int i = 0; i < nodes; i++) {
        int a = below(&r, 2) ? count - 1 - below(&r, count < 3 ? count : 3) : below(&r, count),
            b = below(&r, count);
        int kind = most_adds && below(&r, 3) ? 0 : below(&r, 9);
        const int one = below(&r, 3), two = below(&r, 3); /* parameters are shared at times */
        tensor *x = made[a], *y = made[b], *z;
        used[a] = 1;
        if (kind <= 2) used[b] = 1;
        switch (kind) {
        case 0:
        case 1: z = add(g, x, y); break;
        case 2: z = scale(g, gate(g, x, y), 0.3); break;
        case 3: z = scale(g, x, 0.6); break;
        case 4: z = gelu(g, x); break;
        case 5: { /* separate statements, as the evaluation order of arguments is unspecified */
            tensor *beta = graph_param(g, spec_of(1, shape + 1), "beta%d", two);
            tensor *gamma = graph_param(g, spec_of(1, shape + 1), "gamma%d", one);
            z = layer_norm(g, x, gamma, beta, 0.1);
            break;
        }
        case 6: {
            tensor *bias = below(&r, 2) ? graph_param(g, spec_of(1, shape + 1), "b%d", i) : NULL;
            z = linear(g, x, graph_param(g, spec_of(2, (size_t[]){COLS, COLS}), "w%d", one), bias);
            break;
        }
        case 7: z = of_views(g, x, &r); break;
        default:
            z = linear(g, columns(g, x, (size_t)one, 3),
                       graph_param(g, spec_of(2, (size_t[]){COLS, 3}), "narrow%d", two), NULL);
        }
        made[count++] = z;
    }
    for (int i = 0; i < count; i++)
        if (!used[i]) out = out ? add(g, out, made[i]) : made[i];
    return out;
}

typedef struct model {
    graph *g;
    tensor *out;
    double *params, *grads, *input, *dout;
} model;

static model model_make(ssm2d_context *context, uint64_t seed, int training)
{
    rng r = rng_seed(seed + 1000000);
    model m = {.g = graph_of(context, training)};
    m.out = random_model(m.g, seed);
    finish(m.g, m.out);
    m.params = doubles(m.g->param_count);
    m.grads = doubles(m.g->param_count);
    const size_t count = shape[0] * shape[1];
    m.input = doubles(count);
    m.dout = doubles(count);
    for (size_t i = 0; i < m.g->param_count; i++) m.params[i] = 0.5 * rng_normal(&r);
    for (size_t i = 0; i < count; i++) {
        m.input[i] = rng_normal(&r);
        m.dout[i] = rng_normal(&r);
    }
    graph_find(m.g, "x")->data = m.input;
    graph_bind(m.g, m.params, training ? m.grads : NULL);
    return m;
}

static void model_free(model *m)
{
    graph_destroy(m->g);
    free(m->params);
    free(m->grads);
    free(m->input);
    free(m->dout);
}

static double value_of(model *m)
{
    double sum = 0;
    graph_forward(m->g);
    for (size_t i = 0; i < m->out->count; i++) sum += m->dout[i] * m->out->data[i];
    return sum;
}

static double value_at(model *m, const double *from, const tensor *t, const double *direction,
                       double far)
{
    for (size_t i = 0; i < t->count; i++)
        m->params[t->offset + i] = from[t->offset + i] + far * direction[i];
    double value = value_of(m);
    memcpy(m->params + t->offset, from + t->offset, t->count * sizeof *from);
    return value;
}

static void backward(model *m)
{
    memset(m->grads, 0, m->g->param_count * sizeof *m->grads);
    if (!m->out->needs_grad) return;
    memcpy(m->out->grad, m->dout, m->out->count * sizeof *m->dout);
    graph_backward(m->g);
}

static int gradient_wrong(model *m, uint64_t seed)
{
    const double h = 1e-3;
    double *from = doubles(m->g->param_count), direction[3 * COLS * COLS];
    rng r = rng_seed(seed);
    int wrong = 0;
    double level = fabs(value_of(m));
    backward(m);
    memcpy(from, m->params, m->g->param_count * sizeof *from);
    for (int k = 0; k < m->g->tensor_count; k++) {
        const tensor *t = m->g->tensors[k];
        if (t->role != ROLE_PARAM) continue;
        double got = 0, size = level;
        for (size_t i = 0; i < t->count; i++) {
            direction[i] = rng_normal(&r);
            got += direction[i] * m->grads[t->offset + i];
            size = fmax(size, fabs(m->grads[t->offset + i]));
        }
        double one = value_at(m, from, t, direction, h) - value_at(m, from, t, direction, -h);
        double two =
            value_at(m, from, t, direction, 2 * h) - value_at(m, from, t, direction, -2 * h);
        double want = (8 * one - two) / (12 * h);
        if (fabs(got - want) <= 1e-6 * (1 + size)) continue;
        printf("model %llu, %s: gradient %.10g, differences %.10g\n", (unsigned long long)seed,
               t->name, got, want);
        wrong++;
    }
    free(from);
    return wrong;
}

static void random_graphs_have_right_gradients(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    int wrong = 0;
    for (uint64_t seed = 0; seed < 3000 && wrong < 10; seed++) {
        model m = model_make(context, seed, 1);
        wrong += gradient_wrong(&m, seed) != 0;
        model_free(&m);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static void second_step_equals_the_first(void **state)
{
    (void)state;
    counter c = {.fail_at = -1};
    ssm2d_context *context = counting_context(&c);
    int wrong = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        model m = model_make(context, seed, 1), other = model_make(context, seed, 0);
        double first[ROWS * COLS], *grads = doubles(m.g->param_count);
        const long calls = c.calls;
        graph_forward(m.g);
        memcpy(first, m.out->data, sizeof first);
        backward(&m);
        memcpy(grads, m.grads, m.g->param_count * sizeof *grads);
        memset(m.g->memory, 0xff, m.g->bytes); /* nothing remains from one step to the next */
        graph_forward(m.g);
        wrong += bits_differ("second step", m.out->data, first, ROWS * COLS);
        backward(&m);
        wrong += bits_differ("output after backward", m.out->data, first, ROWS * COLS);
        wrong += bits_differ("second gradients", m.grads, grads, m.g->param_count);
        graph_forward(other.g);
        wrong += bits_differ("inference", other.out->data, first, ROWS * COLS);
        assert_int_equal(c.calls, calls);
        assert_true(other.g->bytes <= m.g->bytes);
        free(grads);
        model_free(&m);
        model_free(&other);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(c.live, 0);
    assert_int_equal(wrong, 0);
}

/* ---- rows together --------------------------------------------------------------------------- */

static int chained_nodes(const graph *g)
{
    const memory_plan *p = g->plan;
    int count = 0;
    for (int i = 0; i < p->chains; i++) count += p->chain[i].end - p->chain[i].first;
    return count;
}

/* Inference runs nodes in chains, training does not: the same bits with any number of threads. */
static void chains_change_nothing(void **state)
{
    (void)state;
    enum { SEEDS = 300, COUNT = MANY_ROWS * COLS };
    static const int threads[] = {1, 2, 3, 5};
    double *expected = doubles((size_t)SEEDS * COUNT);
    int wrong = 0, chained = 0;
    shape = many;
    for (int i = 0; i < 4; i++) {
        ssm2d_context *context = context_of(threads[i]);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            double *first = expected + seed * COUNT;
            model m = model_make(context, seed, 0);
            if (i == 0) {
                model plain = model_make(context, seed, 1);
                assert_int_equal(chained_nodes(plain.g), 0);
                graph_forward(plain.g);
                memcpy(first, plain.out->data, COUNT * sizeof *first);
                model_free(&plain);
            }
            chained += chained_nodes(m.g);
            for (int again = 0; again < 2; again++) {
                memset(m.g->memory, 0xff, m.g->bytes); /* NaN */
                graph_forward(m.g);
                wrong += bits_differ("inference in chains", m.out->data, first, COUNT);
            }
            model_free(&m);
        }
        ssm2d_context_destroy(context);
    }
    shape = few;
    free(expected);
    assert_int_equal(wrong, 0);
    assert_true(chained > 10 * SEEDS);
}

/* Only values of a chain that are read outside it have memory for all rows; and the times of its
 * nodes are known. */
static void chains_need_little_memory(void **state)
{
    (void)state;
    enum { MANY = 4096, WIDTH = 64, NODES = 12 };
    ssm2d_context *context = context_of(2);
    graph *g = graph_of(context, 0);
    tensor *in = graph_input(g, "x", 2, (size_t[]){MANY, WIDTH}), *x = in;
    for (int i = 0; i < NODES / 2; i++) x = add(g, gelu(g, x), in);
    finish(g, x);
    const memory_plan *p = g->plan;
    assert_int_equal(p->chains, 1);
    assert_int_equal(chained_nodes(g), NODES);
    const size_t whole = (size_t)MANY * WIDTH * sizeof(double);
    assert_true(g->bytes >= whole && g->bytes < whole + whole / 4);
    double *data = doubles((size_t)MANY * WIDTH), times[2 * NODES] = {0};
    in->data = data;
    graph_bind(g, data, NULL);
    graph_time(g, times);
    for (int i = 0; i < 3; i++) graph_forward(g);
    for (int i = 0; i < NODES; i++) assert_true(times[2 * i] > 0 && times[2 * i + 1] <= 0);
    free(data);
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

/* ---- values that are not finite -------------------------------------------------------------- */

static void first_bad_tensor_is_named(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    graph *g = graph_of(context, 1);
    double x[ROWS * COLS];
    tensor *in = graph_input(g, "image", 2, shape);
    tensor *a = add(g, in, graph_param(g, spec_of(2, shape), "a"));
    tensor *b = gate(g, a, graph_param(g, spec_of(2, shape), "b"));
    tensor *c = scale(g, b, 1e-200), *d = scale(g, c, 1e200),
           *out = gelu(g, layer_norm(g, d, graph_param(g, spec_of(1, shape + 1), "gamma"),
                                     graph_param(g, spec_of(1, shape + 1), "beta"), 1e-5));
    out = add(g, d, scale(g, out, 0));
    const param_spec moments = {.rank = 1, .shape = {2}, .group = PARAM_STATE};
    graph_param(g, &moments, "moments");
    finish(g, out);
    double *p = doubles(g->param_count), *dp = doubles(g->param_count);
    graph_bind(g, p, dp);
    in->data = x;
    for (size_t i = 0; i < g->param_count; i++) p[i] = 1 + 0.01 * (double)i;
    for (size_t i = 0; i < ROWS * COLS; i++) x[i] = 0.5 + 0.01 * (double)i;

    graph_forward(g);
    for (size_t i = 0; i < out->count; i++) out->grad[i] = 1;
    graph_backward(g);
    assert_null(graph_find_bad(g));
    p[g->param_count - 1] = NAN; /* state, which nothing reads in training */
    assert_null(graph_find_bad(g));

    x[3] = NAN;
    assert_string_equal(graph_find_bad(g), "image");
    x[3] = 1;
    p[4] = INFINITY;
    assert_string_equal(graph_find_bad(g), "a");
    p[4] = 1e200;
    p[ROWS * COLS + 4] = 1e200; /* their product is too large */
    assert_string_equal(graph_find_bad(g), b->name);
    p[4] = p[ROWS * COLS + 4] = 1;
    assert_null(graph_find_bad(g)); /* and forgets earlier bad values */

    for (int again = 0; again < 2; again++) { /* only the gradient is too large */
        graph_forward(g);
        for (size_t i = 0; i < out->count; i++) out->grad[i] = 1e200;
        graph_backward(g);
        assert_string_equal(graph_find_bad(g), c->name);
        /* the search does not change the gradient of the output */
        assert_string_equal(graph_find_bad(g), c->name);
    }
    free(p);
    free(dp);
    graph_destroy(g);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_have_right_gradients),
        cmocka_unit_test(second_step_equals_the_first),
        cmocka_unit_test(chains_change_nothing),
        cmocka_unit_test(chains_need_little_memory),
        cmocka_unit_test(first_bad_tensor_is_named),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
