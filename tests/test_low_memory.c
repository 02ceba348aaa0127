/* Graphs that save memory: recomputing values gives the same loss and the same gradients to the
 * bit, in every family of models, with every mixer, with dropout and stochastic depth, and takes
 * less memory. */
#include "problem.h"

#include "models/model.h"
#include "models/weights.h"
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 6, STEPS = 2 };

typedef struct outcome {
    float *grads, *params; /* of all steps; params hold state that forward has changed */
    float losses[STEPS];
    size_t count, bytes;
} outcome;

static ssm2d_error error;

#define good(call)                                                                                 \
    do {                                                                                           \
        if (call) fail_msg("%s", error.line);                                                      \
    } while (0)

static model_config config_of(const char *name, const char *mixer_name, const char *const *settings)
{
    model_config c;
    const field_source from = {.where = "test"};
    good(model_config_named(name, &c, &error));
    good(model_config_set(from, "mixer", mixer_name, &c, &error));
    for (; settings && *settings; settings += 2)
        good(model_config_set(from, settings[0], settings[1], &c, &error));
    good(model_config_finish(&c, &error));
    return c;
}

static outcome run_steps(const model_config *c, int saves_memory)
{
    ssm2d_context *context;
    const ssm2d_context_options options = {.size = sizeof options, .threads = 2};
    good(ssm2d_context_create(&options, &context, &error));
    weights *w;
    graph *g;
    good(weights_create(context, c, &w, &error));
    good(graph_create(context, 1, &g, &error));
    g->saves_memory = saves_memory;
    g->seed = 7;
    tensor *logits = model_build(g, c, BATCH);
    tensor *targets = graph_input(g, "targets", 2, (size_t[]){BATCH, (size_t)c->outputs});
    tensor *loss = cross_entropy(g, logits, targets), *images = graph_find(g, "images");
    good(graph_finish(g, loss, &error));
    outcome o = {.count = w->total, .bytes = g->bytes};
    o.params = calloc(o.count, sizeof *o.params);
    o.grads = calloc(o.count, sizeof *o.grads);
    float *pixels = calloc(images->count, sizeof *pixels);
    float *wanted = calloc(targets->count, sizeof *wanted);
    assert_true(o.params && o.grads && pixels && wanted);
    good(weights_init(w, PARAM_ALL, 3, o.params, &error));
    rng r = rng_seed(5);
    for (size_t i = 0; i < images->count; i++) pixels[i] = (float)rng_uniform(&r, -2, 2);
    for (size_t b = 0; b < BATCH; b++) wanted[b * (size_t)c->outputs + b % 3] = 1;
    graph_bind(g, o.params, o.grads);
    images->data = pixels;
    targets->data = wanted;
    for (int step = 0; step < STEPS; step++) { /* new random numbers, accumulated gradients */
        g->step = (uint64_t)step;
        graph_forward(g);
        o.losses[step] = loss->data[0];
        loss->grad[0] = 1;
        graph_backward(g);
    }
    free(pixels);
    free(wanted);
    graph_destroy(g);
    weights_destroy(w);
    ssm2d_context_destroy(context);
    return o;
}

static void recomputing_changes_no_bit(void **state)
{
    (void)state;
    static const char *const drops[] = {"drop_path", "0.3", NULL};
    static const struct {
        const char *model, *mixer;
        const char *const *settings;
    } cases[] = {
        {"vit-mini", "ssm2d", drops}, {"vit-mini", "none", NULL},   {"vit-mini", "ema", drops},
        {"vit-mini", "s4nd", NULL},   {"swin-mini", "ssm2d", NULL}, {"swin-mini", "none", drops},
        {"mega-mini", "ssm2d", NULL}, {"mega-mini", "ema", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += short_tests() ? 2 : 1) {
        const model_config c = config_of(cases[i].model, cases[i].mixer, cases[i].settings);
        const outcome normal = run_steps(&c, 0), low = run_steps(&c, 1);
        print_message("%s, mixer %s: %.2f of the memory\n", cases[i].model, cases[i].mixer,
                      (double)low.bytes / (double)normal.bytes);
        assert_memory_equal(low.losses, normal.losses, sizeof low.losses);
        assert_memory_equal(low.grads, normal.grads, low.count * sizeof *low.grads);
        assert_memory_equal(low.params, normal.params, low.count * sizeof *low.params);
        assert_true((double)low.bytes < 0.8 * (double)normal.bytes);
        free(normal.grads);
        free(normal.params);
        free(low.grads);
        free(low.params);
    }
}

/* No model has dropout: a graph with it, whose branches join again. */
static outcome run_dropout(int saves_memory)
{
    enum { ROWS = 40, WIDTH = 24 };
    ssm2d_context *context;
    graph *g;
    const ssm2d_context_options options = {.size = sizeof options, .threads = 2};
    good(ssm2d_context_create(&options, &context, &error));
    good(graph_create(context, 1, &g, &error));
    g->saves_memory = saves_memory;
    g->seed = 11;
    const param_spec square = {.rank = 2, .shape = {WIDTH, WIDTH}};
    tensor *x = graph_input(g, "x", 2, (size_t[]){ROWS, WIDTH}), *branch = x;
    for (int i = 0; i < 5; i++) {
        branch = linear(g, branch, graph_param(g, &square, "w%d", i), NULL);
        branch = gate(g, dropout(g, branch, 0.4), drop_path(g, branch, 0.3));
        if (i % 2) branch = add(g, branch, x);
    }
    tensor *targets = graph_input(g, "targets", 2, (size_t[]){ROWS, WIDTH});
    tensor *loss = bce(g, branch, targets);
    good(graph_finish(g, loss, &error));
    outcome o = {.count = g->param_count, .bytes = g->bytes};
    float inputs[ROWS * WIDTH], wanted[ROWS * WIDTH];
    o.params = calloc(o.count, sizeof *o.params);
    o.grads = calloc(o.count, sizeof *o.grads);
    assert_true(o.params && o.grads);
    rng r = rng_seed(9);
    for (size_t i = 0; i < o.count; i++) o.params[i] = (float)rng_uniform(&r, -0.4, 0.4);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        inputs[i] = (float)rng_uniform(&r, -1, 1);
        wanted[i] = (float)(i % 2);
    }
    graph_bind(g, o.params, o.grads);
    x->data = inputs;
    targets->data = wanted;
    for (int step = 0; step < STEPS; step++) {
        g->step = (uint64_t)step;
        graph_forward(g);
        o.losses[step] = loss->data[0];
        loss->grad[0] = 1;
        graph_backward(g);
    }
    graph_destroy(g);
    ssm2d_context_destroy(context);
    return o;
}

static void recomputed_dropout_draws_the_same(void **state)
{
    (void)state;
    const outcome normal = run_dropout(0), low = run_dropout(1);
    assert_memory_equal(low.losses, normal.losses, sizeof low.losses);
    assert_memory_equal(low.grads, normal.grads, low.count * sizeof *low.grads);
    assert_true(low.losses[0] < low.losses[1] || low.losses[0] > low.losses[1]);
    assert_true(low.bytes < normal.bytes);
    free(normal.grads);
    free(normal.params);
    free(low.grads);
    free(low.params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recomputing_changes_no_bit),
                                       cmocka_unit_test(recomputed_dropout_draws_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
