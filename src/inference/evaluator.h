/* evaluator - runs a model in inference, for batches of one size: a graph, and the weights that it
 * is given. Training also evaluates with it, with changing weights. */
#ifndef SSM2D_INFERENCE_EVALUATOR_H
#define SSM2D_INFERENCE_EVALUATOR_H

#include "graph/quantization.h"
#include "models/weights.h"

typedef struct evaluator {
    ssm2d_context *context;
    model_config config;
    graph *graph;
    tensor *images, *out; /* out: logits [batch][outputs], or tokens [batch][tokens][dim] */
    size_t batch, image;  /* image: elements of an image */
    int outputs;
    /* Space for a batch. A partial batch is copied here, because the graph always runs full ones. A
     * caller may also write its images here before it runs them. */
    float *part;
    float *params; /* evaluator of tokens: the weights of its graph; else NULL */
} evaluator;

/* What matrix products are computed with: ELEMENT_REAL or ELEMENT_BFLOAT16, and the layers with
 * 8-bit factors, or NULL; borrowed. */
typedef struct evaluator_precision {
    element_type factors;
    const quantization *quantized;
} evaluator_precision;

/* Creates an evaluator for batches of at most `batch` images, which the caller destroys. config is
 * one that model_config_finish has checked; it is copied. */
ssm2d_status evaluator_create(ssm2d_context *context, const model_config *config,
                              evaluator_precision precision, size_t batch, evaluator **out,
                              ssm2d_error *error);
/* The same for the tokens after the first `blocks` blocks, at least one, with the weights to use;
 * those of these blocks are copied. */
ssm2d_status evaluator_create_tokens(ssm2d_context *context, const weights *w, const float *params,
                                     evaluator_precision precision, size_t batch, int blocks,
                                     evaluator **out, ssm2d_error *error);
void evaluator_destroy(evaluator *e);
/* Sets the weights to use from now on, of an evaluator of logits. They are borrowed and only read;
 * call this again whenever they change. */
void evaluator_weights(evaluator *e, const float *params);
/* Runs the model on images[count][channels][rows][cols], count <= batch. Returns the output for
 * each, which is valid until the next call. */
const float *evaluator_run(evaluator *e, const float *images, size_t count);

#endif
