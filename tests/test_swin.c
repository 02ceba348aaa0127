/* Swin transformers against a plain twin (swin_oracle.h), in double: any map, any window, every
 * place of the mixer; gradients along random directions by differences; padding that must not be
 * seen; other sizes. */

#include "core/arith.h"
#include "model_case.h"
#include "models/swin.h"
#include "models/swin_windows.h"
#include "ops/ops.h"
#include "problem.h"
#include "swin_oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, CLASSES = 3 };

static void set(model_config *c, const char *key, const char *text)
{
    ssm2d_error error;
    if (model_config_set((field_source){.where = "test"}, key, text, c, &error))
        fail_msg("%s", error.line);
}

/* swin with these settings: "image=[8, 12];patch=2;.." */
static model_config config_of(const char *settings)
{
    model_config c;
    ssm2d_error error;
    char copy[512], *rest = copy;
    snprintf(copy, sizeof copy, "%s", settings);
    if (model_config_named("swin", &c, &error)) fail_msg("%s", error.line);
    set(&c, "classes", "3");
    for (char *key; (key = strtok_r(rest, ";", &rest));) {
        char *value = strchr(key, '=');
        *value++ = 0;
        set(&c, key, value);
    }
    if (model_config_finish(&c, &error)) fail_msg("%s: %s", settings, error.line);
    return c;
}

/* A training graph with random parameters, images and targets. */
typedef struct trial {
    weights *w;
    graph *g;
    tensor *logits, *loss;
    double *params, *grads, *images, *targets;
    size_t count, pixels;
} trial;

static trial trial_make(ssm2d_context *context, const model_config *c, rng *r)
{
    trial t = {0};
    ssm2d_error error;
    if (weights_create(context, c, &t.w, &error) || graph_create(context, 1, &t.g, &error))
        fail_msg("%s", error.line);
    t.count = t.w->total;
    t.pixels = (size_t)(c->channels * c->image[0] * c->image[1]);
    t.params = doubles(t.count);
    t.grads = doubles(t.count);
    t.images = doubles(BATCH * t.pixels);
    t.targets = doubles(BATCH * CLASSES);
    for (size_t i = 0; i < t.count; i++) t.params[i] = 0.3 * rng_normal(r);
    for (size_t i = 0; i < BATCH * t.pixels; i++) t.images[i] = rng_normal(r);
    for (size_t b = 0; b < BATCH; b++) t.targets[b * CLASSES + b % CLASSES] = 1;
    t.logits = model_build(t.g, c, BATCH);
    tensor *targets = graph_input(t.g, "targets", 2, (size_t[]){BATCH, CLASSES});
    t.loss = cross_entropy(t.g, t.logits, targets);
    if (graph_finish(t.g, t.loss, &error)) fail_msg("%s", error.line);
    graph_bind(t.g, t.params, t.grads);
    graph_find(t.g, "images")->data = t.images;
    targets->data = t.targets;
    return t;
}

static void trial_free(trial *t)
{
    graph_destroy(t->g);
    weights_destroy(t->w);
    free(t->params), free(t->grads), free(t->images), free(t->targets);
}

static void step_along(trial *t, const double *direction, double size)
{
    for (size_t i = 0; i < t->count; i++) t->params[i] += size * direction[i];
    t->g->step++; /* kernels are made anew */
}

static double loss_at(trial *t, const double *direction, double size)
{
    step_along(t, direction, size);
    graph_forward(t->g);
    step_along(t, direction, -size);
    return t->loss->data[0];
}

/* The gradient of each kind of array in turn, along a random direction. */
static void check_gradients(trial *t, const char *what, rng *r)
{
    static const char *const kinds[] = {"relative_position_bias_table",
                                        "attn.qkv",
                                        "attn.proj",
                                        "downsample",
                                        "absolute_pos_embed",
                                        "patch_embed",
                                        "norm1",
                                        "mixer",
                                        ""};
    const double h = 1e-5;
    double *direction = doubles(t->count);
    memset(t->grads, 0, t->count * sizeof *t->grads);
    graph_forward(t->g);
    t->loss->grad[0] = 1;
    graph_backward(t->g);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double expected = 0, scale = 0;
        memset(direction, 0, t->count * sizeof *direction);
        for (int a = 0; a < t->w->count; a++) {
            const param_array *p = &t->w->arrays[a];
            if (!strstr(p->name, kinds[k])) continue;
            for (size_t i = p->offset; i < p->offset + p->count; i++) {
                direction[i] = rng_normal(r);
                expected += direction[i] * t->grads[i];
                scale += fabs(direction[i] * t->grads[i]);
            }
        }
        const double got = (loss_at(t, direction, h) - loss_at(t, direction, -h)) / (2 * h);
        if (fabs(got - expected) > 1e-6 * scale + 1e-8)
            fail_msg("%s: along \"%s\" the loss grows by %.10g, not %.10g", what, kinds[k], got,
                     expected);
    }
    free(direction);
}

static void check(ssm2d_context *context, const char *settings, rng *r)
{
    model_config c = config_of(settings);
    trial t = trial_make(context, &c, r);
    double logits[BATCH * CLASSES];
    graph_forward(t.g);
    swin_oracle(t.w, t.params, BATCH, t.images, logits);
    assert_close(settings, t.logits->data, logits, BATCH * CLASSES, 1e-11);
    check_gradients(&t, settings, r);
    trial_free(&t);
}

/* What each line is there for stands behind it. */
static void test_maps(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "image=16;patch=2;dim=8,16;depth=2,2;heads=2,4",        /* two stages, the last clipped */
        "image=[8, 16];patch=2;dim=8;depth=4;heads=2",          /* columns alone are shifted */
        "image=[16, 8];patch=2;dim=8;depth=2;heads=1",          /* rows alone are */
        "image=[4, 16];patch=2;dim=8;depth=2;heads=2",          /* the window is clipped in rows */
        "image=[24, 6];patch=2;dim=8;depth=2;heads=4;window=5", /* an odd window; clipped, padded */
        "image=16;patch=4;dim=8,16,32,64;depth=2,1,2,2;heads=1,2,4,8", /* down to one token */
        "image=20;patch=2;dim=8,16,32;depth=2,2,1;heads=2,2,2",        /* 10, 5 and 3 tokens */
        "image=[14, 18];patch=2;dim=8;depth=2;heads=2;patch_norm=false",
        "image=[10, 26];patch=2;dim=8;depth=2;heads=2;pos_embed=false;qkv_bias=false",
        "image=[14, 18];patch=2;dim=8,16;depth=2,2;heads=2,4;relative_bias=false", /* masks alone */
        "image=8;patch=2;dim=8;depth=1;heads=2;relative_bias=false", /* neither bias nor mask */
        "image=12;patch=2;dim=8;depth=2;heads=2;window=1",           /* each token by itself */
        "image=[2, 22];patch=2;dim=6;depth=2;heads=3;window=3;mlp_ratio=2.5",
        "image=8;patch=8;dim=8;depth=2;heads=2;channels=1", /* one patch */
    };
    rng r = rng_seed(3);
    ssm2d_context *context = context_of(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(context, cases[i], &r);
    ssm2d_context_destroy(context);
}

static void test_mixers(void **state)
{
    (void)state;
    static const char *const places[] = {"attn", "block", "ffn"};
    static const char *const rests[] = {"mixer.directions=4",
                                        "mixer.values=polar;mixer.c_per_channel=false",
                                        "mixer.normalize=true;mixer.share_directions=true"};
    char settings[300];
    rng r = rng_seed(4);
    ssm2d_context *context = context_of(2);
    for (int p = 0; p < 3; p++)
        for (int k = 0; k < 3; k++) {
            snprintf(settings, sizeof settings,
                     "image=[14, 20];patch=2;dim=8,16;depth=2,2;heads=2,4;mixer=ssm2d;"
                     "mixer.place=%s;%s",
                     places[p], rests[k]);
            check(context, settings, &r);
        }
    ssm2d_context_destroy(context);
}

static void test_random_models(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    ssm2d_context *context = context_of(2);
    for (int i = 0; i < (short_tests() ? 4 : 24); i++) {
        static const char *const flags[] = {"false", "true"};
        static const char *const depths[] = {"2", "1,2", "2,2,1", "1,1,2,2"};
        const int patch = 1 + below(&r, 3), rows = patch * (1 + below(&r, 12)),
                  cols = patch * (1 + below(&r, 12)), stages = below(&r, 4),
                  window = 1 + below(&r, 6), heads = 1 + below(&r, 2), width = 2 + below(&r, 3),
                  pos = below(&r, 2), normed = below(&r, 2), bias = below(&r, 2),
                  relative = below(&r, 4) > 0;
        char settings[300];
        snprintf(settings, sizeof settings,
                 "image=[%d, %d];patch=%d;depth=%s;dim=%d;heads=%d;window=%d;pos_embed=%s;"
                 "patch_norm=%s;qkv_bias=%s;relative_bias=%s",
                 rows, cols, patch, depths[stages], 2 * heads * width, heads, window, flags[pos],
                 flags[normed], flags[bias], flags[relative]);
        check(context, settings, &r);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_mixers),
        cmocka_unit_test(test_random_models),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
