/* bench_training - the parts of a training step on random images: graph with cross-entropy,
 * weights, gradients and AdamW. One graph is run over one or several slices of the batch. */
#ifndef SSM2D_TOOLS_BENCH_TRAINING_H
#define SSM2D_TOOLS_BENCH_TRAINING_H

#include "models/model.h"
#include "models/weights.h"
#include "optim/optimizer.h"

typedef struct bench_training {
    ssm2d_context *context;
    const char *products; /* the instructions that multiply bfloat16, or NULL */
    weights *weights;
    graph *graph;
    tensor *images, *targets, *loss;
    float *pixels, *labels;          /* [slices][..] of images and targets */
    float *params, *grads, *moments; /* moments: [2][parameters], of AdamW */
    param_span *spans;
    double *partial; /* of gradient_norm */
    long steps;
} bench_training;

/* The caller destroys *t, after a failure as well. batch: images of a slice; task: see
 * bench_model.h. */
ssm2d_status bench_training_create(ssm2d_context *context, const model_config *config, size_t batch,
                                   size_t slices, int task, bench_training *t, ssm2d_error *error);
void bench_training_destroy(bench_training *t);
/* Lets the graph read a slice. */
void bench_training_slice(bench_training *t, int slice);
/* Computes the gradient of the slice that the graph reads; it is added to t->grads. */
void bench_training_gradient(bench_training *t);
/* Updates the weights as src/train does, the norm of the gradient included. */
void bench_training_update(bench_training *t);

#endif
