/* The graph: random ones against central differences (which finds values and gradients that share
 * memory they should not), memory, errors, and the search for what is not finite. In double. */
#include "problem.h"

#include "graph/memory.h"
#include "graph_helpers.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLS = 5, MOST = 64 };

static const size_t shape[] = {ROWS, COLS};

typedef struct counter {
    long calls, live, fail_at;
} counter;

static void *counted_take(size_t bytes, void *user)
{
    counter *c = user;
    if (c->calls++ == c->fail_at) return NULL;
    void *memory = malloc(bytes);
    if (memory) memset(memory, 0xff, bytes); /* NaN */
    c->live += memory != NULL;
    return memory;
}

static void counted_give(void *memory, void *user)
{
    counter *c = user;
    c->live--;
    free(memory);
}

static ssm2d_context *counting_context(counter *c)
{
    ssm2d_context_options o = {
        .threads = 2, .allocate = counted_take, .release = counted_give, .user = c};
    ssm2d_context *context;
    ssm2d_error error;
    if (ssm2d_context_create(&o, &context, &error)) fail_msg("%s", error.line);
    return context;
}

static graph *graph_of(ssm2d_context *context, int training)
{
    graph *g;
    ssm2d_error error;
    if (graph_create(context, training, &g, &error)) fail_msg("%s", error.line);
    return g;
}

static void finish(graph *g, tensor *out)
{
    ssm2d_error error;
    if (graph_finish(g, out, &error)) fail_msg("%s", error.line);
}

/* ---- random graphs --------------------------------------------------------------------------- */

/* Views of a wider tensor, which may overlap or leave some of it alone; sometimes the tensor itself
 * is used as well. */
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

/* Nodes take what is there already, mostly what is new; what nobody has used is added up in the
 * end. */
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
        case 5: { /* one after the other: the order of a call's arguments is the compiler's */
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
    m.input = doubles(ROWS * COLS);
    m.dout = doubles(ROWS * COLS);
    for (size_t i = 0; i < m.g->param_count; i++) m.params[i] = 0.5 * rng_normal(&r);
    for (size_t i = 0; i < ROWS * COLS; i++) {
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

static void second_step_is_the_first(void **state)
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
        memset(m.g->memory, 0xff, m.g->bytes); /* nothing is left over from one step to the next */
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

/* ---- memory ---------------------------------------------------------------------------------- */

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
    /* a layer more costs its hidden numbers and its residual, but not the output of its GELU;
     * inference costs none */
    assert_int_equal((training[1] - training[0]) / 4, 64 * (128 + 32) * sizeof(double));
    assert_int_equal(inference[0], inference[1]);
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

/* Everything that allocates; says whether all went well. */
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
        tensor *params =
            graph_param(g, spec_of(1, (size_t[]){ssm2d_param_total(&config)}), "mixer");
        x = mix_ssm2d(g, x, params, &config, 1, 2, 3);
        x = attention(g, x, 2);
        status = graph_finish(g, x, &error);
    }
    const int failed = c.calls > c.fail_at;
    graph_destroy(g);
    assert_int_equal(c.live, before);
    ssm2d_context_destroy(context);
    if (!failed) assert_int_equal(status, SSM2D_OK);
    if (!failed) return 1;
    assert_int_equal(status, SSM2D_ERROR_MEMORY);
    says(&error, "no memory", "");
    return 0;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    long n = 0;
    while (!build_all(n)) n++;
    assert_true(n > 140 * 2);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static tensor *input(graph *g, int rank, size_t a, size_t b, size_t c, size_t d)
{
    return graph_input(g, "x", rank, (size_t[]){a, b, c, d});
}

static void attention_with(graph *g, tensor *x, int far, int groups)
{
    const float mask[9] = {0, 0, 0, 0, (float)-INFINITY, 0, 0, 0, 0};
    attention_options o = {.heads = 1,
                           .bias = graph_input(g, "table", 1, (size_t[]){3}),
                           .position = (int[]){0, 0, far},
                           .center = 1,
                           .mask = groups ? mask : NULL,
                           .groups = groups};
    attention_of(g, x, x, x, &o);
}

static void overlapping_attention(graph *g)
{
    tensor *x = graph_param(g, spec_of(3, (size_t[]){2, 3, 9}), "qkv");
    tensor *q = columns(g, x, 0, 3), *k = columns(g, x, 3, 3), *v = columns(g, x, 5, 4);
    attention_of(g, q, k, v, &(attention_options){.heads = 1});
}

static void refuse(graph *g, int which)
{
    tensor *x = input(g, 3, 2, 3, 4, 0), *flat = input(g, 2, 3, 5, 0, 0);
    switch (which) {
    case 0: add(g, x, flat); break;
    case 1: gate(g, flat, x); break;
    case 2: linear(g, x, flat, NULL); break;
    case 3: attention(g, x, 1); break;
    case 4: attention(g, flat, 1); break;
    case 5: layer_norm(g, x, flat, flat, 1e-5); break;
    case 6: patches(g, x, 2); break;
    case 7: patches(g, input(g, 4, 1, 3, 8, 9), 4); break;
    case 8: take_token(g, x, 3); break;
    case 9: mean_tokens(g, flat); break;
    case 10: embed(g, x, NULL, flat); break;
    case 11: dropout(g, x, 1.5); break;
    case 12: drop_path(g, x, -0.5); break;
    case 13: cross_entropy(g, flat, x); break;
    case 14: bce(g, flat, x); break;
    case 15: input(g, 3, 2, 0, 4, 0); break;
    case 16: input(g, 3, SIZE_MAX / 2, 8, 4, 0); break;
    case 17:
        graph_param(g, spec_of(1, (size_t[]){3}), "w"),
            graph_param(g, spec_of(1, (size_t[]){4}), "w");
        break;
    case 18: embed(g, flat, NULL, NULL); break;
    case 19: patches(g, input(g, 4, 1, 3, 8, 8), 0); break;
    case 20: attention(g, x, 0); break;
    case 21: embed(g, input(g, 4, 2, 3, 4, 5), NULL, NULL); break;
    case 22: cross_entropy(g, flat, graph_param(g, spec_of(2, flat->shape), "labels")); break;
    case 23: bce(g, flat, graph_param(g, spec_of(2, flat->shape), "labels")); break;
    case 29: attention_of(g, x, x, flat, &(attention_options){.heads = 1}); break;
    case 30: attention_of(g, x, x, x, &(attention_options){.heads = 3}); break;
    case 31: attention_with(g, x, 2, 0); break;
    case 32: attention_with(g, x, 0, 3); break;
    case 33: attention_with(g, x, 0, 1); break;
    case 34: overlapping_attention(g); break;
    case 25: softmax(g, columns(g, flat, 1, 2)); break;
    case 26: columns(g, flat, 3, 3); break;
    case 27: columns(g, flat, 1, SIZE_MAX); break;
    case 28: columns(g, flat, 2, 0); break;
    case 24: bce(g, flat, scale(g, flat, 2)); break;
    default: graph_fail(g, "the last one"); break;
    }
}

static const char *const words[] = {
    "add",
    "gate",
    "linear",
    "attention",
    "attention",
    "layer_norm",
    "patches",
    "patches",
    "take_token",
    "mean_tokens",
    "embed",
    "dropout",
    "drop_path",
    "cross_entropy",
    "bce",
    "axis 1",
    "axis",
    "w",
    "embed",
    "patches",
    "attention",
    "embed",
    "cross_entropy: targets must be an input of the graph, not labels",
    "bce: targets must be an input of the graph, not labels",
    "bce: targets must be an input of the graph, not 0:scale",
    "softmax cannot take \"2:columns 1..2 of x\" as its input 0: make it contiguous() before",
    "columns",
    "columns",
    "columns",
    "attention: q (2, 3, 4), k (2, 3, 4) and v (3, 5) are not",
    "attention",
    "attention: entries -1 to 3 of a bias that has 3",
    "attention: 2 images cannot have the masks of 3 groups",
    "attention: a mask holds -inf",
    "attention: columns of q, k and v overlap",
    "last"};

static void first_error_is_kept(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    for (int which = 0; which < (int)(sizeof words / sizeof *words); which++) {
        graph *g = graph_of(context, 1);
        refuse(g, which);
        if (!g->status) fail_msg("nobody refused %d, %s", which, words[which]);
        const int nodes = g->node_count;
        refuse(g, (which + 1) % 15); /* with NULL all over */
        tensor *x = gelu(g, NULL);
        x = add(g, x, softmax(g, sigmoid(g, silu(g, x))));
        assert_null(scale(g, x, 2));
        assert_int_equal(g->node_count, nodes);
        ssm2d_error error = {""};
        assert_int_equal(graph_finish(g, NULL, &error), SSM2D_ERROR_ARGUMENT);
        says(&error, words[which], "");
        graph_destroy(g);
    }
    ssm2d_context_destroy(context);
}

/* ---- what is not finite ---------------------------------------------------------------------- */

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

    x[3] = NAN;
    assert_string_equal(graph_find_bad(g), "image");
    x[3] = 1;
    p[4] = INFINITY;
    assert_string_equal(graph_find_bad(g), "a");
    p[4] = 1e200;
    p[ROWS * COLS + 4] = 1e200; /* their product is too large */
    assert_string_equal(graph_find_bad(g), b->name);
    p[4] = p[ROWS * COLS + 4] = 1;
    assert_null(graph_find_bad(g)); /* and forgets what was bad before */

    for (int again = 0; again < 2; again++) { /* only the gradient is too large */
        graph_forward(g);
        for (size_t i = 0; i < out->count; i++) out->grad[i] = 1e200;
        graph_backward(g);
        assert_string_equal(graph_find_bad(g), c->name);
        /* the search leaves the gradient of the output alone */
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
        cmocka_unit_test(second_step_is_the_first),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(residuals_share_their_gradient),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(first_error_is_kept),
        cmocka_unit_test(first_bad_tensor_is_named),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
