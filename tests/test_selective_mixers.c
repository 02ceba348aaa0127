/* Selective scans as mixers of a small ViT: they train, and ssm2d_selective starts from the arrays
 * of a trained 2-D SSM. */
#include "models/vit.h"
#include "models/weights.h"
#include "ops/ops.h"
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, CLASSES = 5, PIXELS = 16 * 24 };

static ssm2d_error error;

#define good(call)                                                                                 \
    do {                                                                                           \
        if (call) fail_msg("%s", error.line);                                                      \
    } while (0)

static model_config small_vit(const layer_kind *kind)
{
    static const char *const set[][2] = {{"image", "16x24"}, {"dim", "12"},    {"depth", "2"},
                                         {"heads", "2"},     {"classes", "5"}, {"channels", "1"}};
    model_config c;
    good(model_config_named("vit-mini", &c, &error));
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        good(model_config_set((field_source){.where = "test"}, set[i][0], set[i][1], &c, &error));
    good(model_config_use_mixer(&c, kind, &error));
    good(model_config_finish(&c, &error));
    return c;
}

static void draw_images(float *images)
{
    for (int i = 0; i < BATCH * PIXELS; i++) images[i] = sinf(0.1f * (float)i);
}

/* Gradients reach the parameters of every block's mixer, and the loss falls. */
static void selective_scans_train(void **state)
{
    (void)state;
    static const layer_kind *const kinds[] = {&layer_ssm2d_selective, &layer_ss2d,
                                              &layer_mamba2d,         &layer_scan2d,
                                              &layer_chimera,         &layer_roesser};
    ssm2d_context *context = context_of(2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        model_config c = small_vit(kinds[k]);
        weights *w = NULL;
        graph *g;
        float images[BATCH * PIXELS], targets[BATCH * CLASSES] = {0}, last = INFINITY;
        assert_false(mixer_has_kernels(&c.mixer));
        good(weights_create(context, &c, &w, &error));
        float *params = malloc(w->total * sizeof *params), *grads = calloc(w->total, sizeof *grads);
        good(weights_init(w, PARAM_ALL, 3, params, &error));
        good(graph_create(context, 1, &g, &error));
        tensor *logits = model_build(g, &c, BATCH);
        const size_t shape[] = {BATCH, CLASSES};
        tensor *expected = graph_input(g, "targets", 2, shape);
        tensor *loss = cross_entropy(g, logits, expected);
        good(graph_finish(g, loss, &error));
        draw_images(images);
        for (int b = 0; b < BATCH; b++) targets[b * CLASSES + b] = 1;
        graph_bind(g, params, grads);
        graph_find(g, "images")->data = images;
        expected->data = targets;
        for (int step = 0; step < 4; step++) {
            memset(grads, 0, w->total * sizeof *grads);
            g->step = (uint64_t)step;
            graph_forward(g);
            if (!(*loss->data < last))
                fail_msg("%s: step %d: %g, before %g", kinds[k]->name, step, (double)*loss->data,
                         (double)last);
            last = *loss->data;
            loss->grad[0] = 1;
            graph_backward(g);
            for (size_t i = 0; i < w->total; i++) params[i] -= 0.0002f * grads[i];
        }
        int arrays = 0;
        for (size_t i = 0; i < (size_t)w->count; i++) {
            const param_array *a = &w->arrays[i];
            if (!strstr(a->name, "blocks.1.mixer.")) continue;
            double norm = 0;
            for (size_t e = 0; e < a->count; e++) norm += fabs((double)grads[a->offset + e]);
            if (!(norm > 0)) fail_msg("%s: no gradient of %s", kinds[k]->name, a->name);
            arrays++;
        }
        assert_true(arrays >= 3);
        graph_destroy(g);
        weights_destroy(w);
        free(params), free(grads);
    }
    ssm2d_context_destroy(context);
}

static void logits_of(ssm2d_context *context, const model_config *c, float *params, float *out)
{
    graph *g;
    float images[BATCH * PIXELS];
    good(graph_create(context, 0, &g, &error));
    tensor *logits = model_build(g, c, BATCH);
    good(graph_finish(g, logits, &error));
    draw_images(images);
    graph_bind(g, params, NULL);
    graph_find(g, "images")->data = images;
    graph_forward(g);
    memcpy(out, logits->data, BATCH * CLASSES * sizeof *out);
    graph_destroy(g);
}

/* A model with ssm2d_selective that takes A, B, C and D of a model with ssm2d, which have the same
 * names and shapes, and keeps its own initial values for the rest, gives the same logits. */
static void selective_layer_starts_from_the_2d_ssm(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    const model_config from = small_vit(&layer_ssm2d), to = small_vit(&layer_ssm2d_selective);
    weights *a = NULL, *b = NULL;
    float want[BATCH * CLASSES], got[BATCH * CLASSES];
    good(weights_create(context, &from, &a, &error) || weights_create(context, &to, &b, &error));
    float *x = malloc(a->total * sizeof *x), *y = malloc(b->total * sizeof *y);
    good(weights_init(a, PARAM_ALL, 5, x, &error) || weights_init(b, PARAM_ALL, 6, y, &error));
    for (size_t i = 0; i < (size_t)a->count; i++) {
        const param_array *s = &a->arrays[i], *t = weights_find(b, s->name);
        assert_true(t && t->count == s->count);
        memcpy(y + t->offset, x + s->offset, s->count * sizeof *x);
    }
    logits_of(context, &from, x, want);
    logits_of(context, &to, y, got);
    for (int i = 0; i < BATCH * CLASSES; i++)
        assert_true(fabsf(got[i] - want[i]) < 1e-5f * (1 + fabsf(want[i])));
    free(x), free(y);
    weights_destroy(a);
    weights_destroy(b);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(selective_scans_train),
                                       cmocka_unit_test(selective_layer_starts_from_the_2d_ssm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
