#include "model_trial.h"

#include "ops/ops.h"
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(model_config *c, const char *key, const char *text)
{
    ssm2d_error error;
    if (model_config_set((field_source){.where = "test"}, key, text, c, &error))
        fail_msg("%s", error.line);
}

model_config trial_config(const char *name, const char *settings)
{
    model_config c;
    ssm2d_error error;
    char copy[512], *rest = copy;
    snprintf(copy, sizeof copy, "%s", settings);
    if (model_config_named(name, &c, &error)) fail_msg("%s", error.line);
    set(&c, "classes", "3");
    for (char *key; (key = strtok_r(rest, ";", &rest));) {
        char *value = strchr(key, '=');
        *value++ = 0;
        set(&c, key, value);
    }
    if (model_config_finish(&c, &error)) fail_msg("%s: %s", settings, error.line);
    return c;
}

trial trial_make(ssm2d_context *context, const model_config *c, rng *r)
{
    trial t = {0};
    ssm2d_error error;
    if (weights_create(context, c, &t.w, &error) || graph_create(context, 1, &t.g, &error))
        fail_msg("%s", error.line);
    t.count = t.w->total;
    t.pixels = (size_t)(c->channels * c->image[0] * c->image[1]);
    t.params = doubles(t.count);
    t.grads = doubles(t.count);
    t.images = doubles(TRIAL_BATCH * t.pixels);
    t.targets = doubles(TRIAL_BATCH * TRIAL_CLASSES);
    for (size_t i = 0; i < t.count; i++) t.params[i] = 0.3 * rng_normal(r);
    for (size_t i = 0; i < TRIAL_BATCH * t.pixels; i++) t.images[i] = rng_normal(r);
    for (size_t b = 0; b < TRIAL_BATCH; b++) t.targets[b * TRIAL_CLASSES + b % TRIAL_CLASSES] = 1;
    t.logits = model_build(t.g, c, TRIAL_BATCH);
    tensor *targets = graph_input(t.g, "targets", 2, (size_t[]){TRIAL_BATCH, TRIAL_CLASSES});
    t.loss = cross_entropy(t.g, t.logits, targets);
    if (graph_finish(t.g, t.loss, &error)) fail_msg("%s", error.line);
    graph_bind(t.g, t.params, t.grads);
    graph_find(t.g, "images")->data = t.images;
    targets->data = t.targets;
    return t;
}

void trial_free(trial *t)
{
    graph_destroy(t->g);
    weights_destroy(t->w);
    free(t->params), free(t->grads), free(t->images), free(t->targets);
}

static void step_along(trial *t, const double *direction, double size)
{
    for (size_t i = 0; i < t->count; i++) t->params[i] += size * direction[i];
    t->g->step++; /* so that kernels are recomputed */
}

static double loss_at(trial *t, const double *direction, double size)
{
    step_along(t, direction, size);
    graph_forward(t->g);
    step_along(t, direction, -size);
    return t->loss->data[0];
}

void check_gradients(trial *t, const char *what, const char *const *kinds, rng *r)
{
    const double h = 1e-5;
    double *direction = doubles(t->count);
    memset(t->grads, 0, t->count * sizeof *t->grads);
    graph_forward(t->g);
    t->loss->grad[0] = 1;
    graph_backward(t->g);
    for (size_t k = 0; kinds[k]; k++) {
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
