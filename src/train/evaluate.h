/* evaluate - a model that only runs: logits of batches of images, and its loss and accuracy on a
 * data set. */
#ifndef SSM2D_TRAIN_EVALUATE_H
#define SSM2D_TRAIN_EVALUATE_H

#include "data/loader.h"
#include "models/model.h"
#include "train/options.h"

typedef struct evaluator evaluator;

/* config must have been finished; batches are of this size at most. */
ssm2d_status evaluator_create(ssm2d_context *context, const model_config *config, size_t batch,
                              evaluator **out, ssm2d_error *error);
void evaluator_destroy(evaluator *e);
/* The weights to use from now on, borrowed; to be called again when they have changed. */
void evaluator_weights(evaluator *e, float *weights);
/* images: [count][channels][rows][cols], count <= batch. The logits [count][classes] are valid
 * until the next call. */
const float *evaluator_run(evaluator *e, const float *images, size_t count);

typedef struct evaluation {
    double loss;     /* mean over images, without smoothing */
    double accuracy; /* a part of 1: of the images, or with binary labels of all attributes */
    size_t images;
    int stopped; /* by `stop`; the rest says nothing then */
} evaluation;

typedef struct evaluation_hooks {
    void *user;
    int (*stop)(void *user); /* asked before each batch; NULL: never */
    void (*progress)(void *user, size_t batch, size_t batches);
} evaluation_hooks;

/* One epoch of a loader that was made for evaluation, from its beginning. hooks may be NULL. */
ssm2d_status evaluate(evaluator *e, loader *images, train_loss loss, const evaluation_hooks *hooks,
                      evaluation *result, ssm2d_error *error);

/* probabilities[classes] of an image: softmax, or for bce the sigmoid of each. */
void class_probabilities(train_loss loss, const float *logits, int classes, double *probabilities);

#endif
