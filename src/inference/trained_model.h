/* trained_model - the models and sessions of ssm2d_model.h for the tool, in the caller's
 * context. */
#ifndef SSM2D_INFERENCE_TRAINED_MODEL_H
#define SSM2D_INFERENCE_TRAINED_MODEL_H

#include "data/augment.h"
#include "inference/evaluator.h"
#include "inference/run_data.h"
#include "inference/run_files.h"
#include "ssm2d_model.h"

/* Constant once it is open, so that threads may share it. */
struct ssm2d_model {
    ssm2d_context *context;
    int owns_context;
    model_config config;
    weights *weights;
    float *params;
    int resized; /* the position embedding, or tables of relative positions, were interpolated */
    int is_run;  /* data, augment and loss come from a run */
    run_data data;
    augment_options augment;
    loss_kind loss;
    run_file which;       /* of a run, and of the run that a file was made from: last or best */
    element_type type;    /* of the weights of linear layers in the file; in memory they are real */
    element_type factors; /* of matrix products: real, or bfloat16 where that is faster */
    quantization *quantized; /* int8: the layers with 8-bit factors; else NULL */
    char *card;              /* of a model file: a description; NULL: none */
};

/* Opens the model of a run, finished or not; `which` says which weights. Instead of a folder it may
 * be a model file (model_file.h), whose weights are those that it has. image, unless NULL or 0,
 * replaces the image size; the weights are adapted to it. The caller closes *out. */
ssm2d_status model_open_run(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], ssm2d_model **out, ssm2d_error *error);
/* Opens a configuration, which need not have been finished, with weights of a file; `name` is the
 * name of the configuration for messages. options and report as for weights_load: mixers that are
 * missing in the file are refused unless there is a report to mention them in. */
ssm2d_status model_open_weights(ssm2d_context *context, const char *name,
                                const model_config *config, const char *path,
                                const weights_options *options, weights_report *report,
                                ssm2d_model **out, ssm2d_error *error);
/* Adapts a model to images of another size; image NULL or 0: no change. After a failure the model
 * can only be closed. name: the model's name for messages. */
ssm2d_status model_resize(ssm2d_model *model, const char *name, const int image[2],
                          ssm2d_error *error);
/* A model with initial weights. */
ssm2d_status model_open_new(ssm2d_context *context, const model_config *config, uint64_t seed,
                            ssm2d_model **out, ssm2d_error *error);

struct ssm2d_session {
    const ssm2d_model *model;
    ssm2d_context *context;
    struct memory_budget *budget; /* of the session's own context; NULL: the caller's context */
    /* for an image size other than the model's; else NULL */
    weights *weights;
    float *params;
    evaluator *evaluator;
    augment *augment;  /* NULL: the preparation of pixels is unknown */
    uint8_t *prepared; /* [batch]: whether the image is prepared */
};

/* Creates a session in the caller's context, whose threads it uses instead of options->threads;
 * max_bytes is ignored. */
ssm2d_status session_create(ssm2d_context *context, const ssm2d_model *model,
                            const ssm2d_session_options *options, ssm2d_session **out,
                            ssm2d_error *error);
/* Sets the preparation of pixels (preparation.c): that of the run, overridden by `given` unless it
 * is NULL. */
ssm2d_status preparation_read(const ssm2d_model *model, const ssm2d_model_preparation *given,
                              augment_options *options, normalisation *norm, ssm2d_error *error);
/* To prepare image i of a batch: resize the file with session_resize into session_pixels
 * (data/picture.h), then call session_image_prepared. */
resize *session_resize(ssm2d_session *session);
uint8_t *session_pixels(ssm2d_session *session);
void session_image_prepared(ssm2d_session *session, size_t i);

#endif
