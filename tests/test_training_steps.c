/* A short training run without files: graph, operators, the layer and AdamW for three steps. The
 * losses are those of x86-64 (SSM2D_CPU=baseline) up to rounding on every processor, under qemu as
 * well, and bits do not depend on the number of threads. */
#include "problem.h"

#include "ops/ops.h"
#include "optim/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, SIDE = 8, PATCH = 4, DIM = 12, CLASSES = 3, STEPS = 3 };

static ssm2d_error error;

#define good(call)                                                                                 \
    do {                                                                                           \
        if (call) fail_msg("%s", error.line);                                                      \
    } while (0)

static tensor *weight(graph *g, const char *name, size_t rows, size_t cols)
{
    const param_spec spec = {.rank = cols ? 2 : 1, .shape = {rows, cols}};
    return graph_param(g, &spec, "%s", name);
}

/* The layer on the grid of patches. */
static tensor *mixed(graph *g, tensor *x)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = DIM;
    c.d_state = 3;
    const ssm2d_layer layer = layer_2d(&c);
    tensor *params = weight(g, "mixer", ssm2d_layer_param_count(&layer), 0);
    return mix_layer(g, x, params, &layer, x->grid);
}

/* A transformer of one block; returns its logits. */
static tensor *build(graph *g, tensor *images)
{
    tensor *x = linear(g, patches(g, images, PATCH), weight(g, "embed", DIM, PATCH * PATCH), NULL);
    x = mixed(g, x);
    /* separate statements, as the evaluation order of arguments is unspecified */
    tensor *gamma = weight(g, "gamma", DIM, 0);
    tensor *beta = weight(g, "beta", DIM, 0);
    tensor *y = layer_norm(g, x, gamma, beta, 1e-5);
    y = attention(g, linear(g, y, weight(g, "qkv", 3 * DIM, DIM), NULL), 3);
    x = add(g, x, y);
    y = gelu(g, linear(g, x, weight(g, "fc1", 2 * DIM, DIM), NULL));
    x = add(g, x, linear(g, y, weight(g, "fc2", DIM, 2 * DIM), NULL));
    return linear(g, mean_tokens(g, x), weight(g, "head", CLASSES, DIM), NULL);
}

static float *floats(size_t count)
{
    float *values = calloc(count, sizeof *values);
    assert_non_null(values);
    return values;
}

static const optimizer *adamw(void)
{
    for (int i = 0; optimizer_names[i]; i++)
        if (!strcmp(optimizer_names[i], "adamw")) return optimizer_at(i);
    fail_msg("there is no adamw");
    return NULL;
}

/* Trains on images whose class is which third of their pixels is bright; losses[0] is that before
 * the first step. Returns the weights, which the caller frees. */
static float *train(int threads, float losses[STEPS + 1], size_t *count)
{
    ssm2d_context *context = context_of(threads);
    graph *g;
    good(graph_create(context, 1, &g, &error));
    tensor *images = graph_input(g, "images", 4, (size_t[]){BATCH, 1, SIDE, SIDE});
    tensor *targets = graph_input(g, "targets", 2, (size_t[]){BATCH, CLASSES});
    tensor *loss = cross_entropy(g, build(g, images), targets);
    good(graph_finish(g, loss, &error));
    *count = g->param_count;
    float *weights = floats(*count), *gradients = floats(*count), *first = floats(*count),
          *second = floats(*count), *pixels = floats(images->count),
          *wanted = floats(targets->count);
    rng r = rng_seed(3);
    for (size_t i = 0; i < *count; i++) weights[i] = (float)rng_uniform(&r, -0.4, 0.4);
    for (size_t b = 0; b < BATCH; b++) {
        wanted[b * CLASSES + b % CLASSES] = 1;
        for (size_t k = 0; k < SIDE * SIDE; k++)
            pixels[b * SIDE * SIDE + k] =
                (float)rng_uniform(&r, -1, 1) + (float)(k % CLASSES == b % CLASSES);
    }
    graph_bind(g, weights, gradients);
    images->data = pixels;
    targets->data = wanted;
    const param_span all = {.count = *count, .decay = 1, .lr = 1};
    for (int t = 0; t <= STEPS; t++) {
        g->step = (uint64_t)t;
        graph_forward(g);
        losses[t] = loss->data[0];
        if (t == STEPS) break;
        memset(gradients, 0, *count * sizeof *gradients);
        loss->grad[0] = 1;
        graph_backward(g);
        const optimizer_step step = {
            .settings = {.decay = 0.05, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
            .lr = 0.02,
            .t = t + 1,
            .factor = 1,
            .count = *count,
            .span_count = 1,
            .spans = &all,
            .weights = weights,
            .gradients = gradients,
            .arrays = {first, second}};
        optimizer_update(context, adamw(), &step);
    }
    graph_destroy(g);
    ssm2d_context_destroy(context);
    free(gradients), free(first), free(second), free(pixels), free(wanted);
    return weights;
}

static void losses_are_those_of_x86(void **state)
{
    (void)state;
    static const double expected[STEPS + 1] = {1.1314286, 1.05846763, 0.994133949, 0.905772269};
    float losses[STEPS + 1];
    size_t count;
    free(train(1, losses, &count));
    for (int t = 0; t <= STEPS; t++) print_message("step %d: loss %.9g\n", t, (double)losses[t]);
    for (int t = 0; t <= STEPS; t++)
        if (!(fabs((double)losses[t] - expected[t]) < 2e-5))
            fail_msg("step %d: the loss is %.9g and not %.9g", t, (double)losses[t], expected[t]);
}

static void threads_do_not_change_bits(void **state)
{
    (void)state;
    float one[STEPS + 1], three[STEPS + 1];
    size_t count;
    float *a = train(1, one, &count), *b = train(3, three, &count);
    assert_memory_equal(one, three, sizeof one);
    assert_memory_equal(a, b, count * sizeof *a);
    free(a), free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses_are_those_of_x86),
                                       cmocka_unit_test(threads_do_not_change_bits)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
