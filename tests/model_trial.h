/* model_trial - models of a family with settings in one line and random parameters, and their
 * gradients by finite differences. In double. */
#ifndef SSM2D_TESTS_MODEL_TRIAL_H
#define SSM2D_TESTS_MODEL_TRIAL_H

#include "core/rng.h"
#include "models/weights.h"

enum { TRIAL_BATCH = 2, TRIAL_CLASSES = 3 };

/* A model with these settings: "image=[8, 12];patch=2;.." */
model_config trial_config(const char *name, const char *settings);

/* A training graph with random parameters, images and targets. */
typedef struct trial {
    weights *w;
    graph *g;
    tensor *logits, *loss;
    double *params, *grads, *images, *targets;
    size_t count, pixels;
} trial;

trial trial_make(ssm2d_context *context, const model_config *c, rng *r);
void trial_free(trial *t);

/* Checks the gradient of each kind of array along a random direction. kinds: parts of names,
 * NULL-terminated; "": all. */
void check_gradients(trial *t, const char *what, const char *const *kinds, rng *r);

#endif
