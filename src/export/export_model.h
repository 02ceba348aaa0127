/* export_model - a model with its weights as a file for other programs. */
#ifndef SSM2D_EXPORT_EXPORT_MODEL_H
#define SSM2D_EXPORT_EXPORT_MODEL_H

#include "export/onnx_graph.h"
#include "models/model.h"

typedef struct model_export {
    const model_config *config; /* finished */
    const float *params;        /* the model's weights, at its image size */
    size_t batch;               /* images; 0: any number */
    int features;               /* the tokens after so many blocks are an output; 0: they are not */
    const char *path;
    int notes;
    const onnx_note *note;                                 /* the file's metadata */
    void (*progress)(void *user, size_t done, size_t all); /* of operators; or NULL */
    void *user;
} model_export;

/* Writes ONNX: input `images` [N][channels][rows][cols], which are normalised; outputs `logits`
 * [N][outputs] and, if asked for, `features` [N][tokens][dim]. */
ssm2d_status model_export_onnx(ssm2d_context *context, const model_export *what,
                               ssm2d_error *error);
/* Refuses, saying what is missing, in a build that cannot write ONNX. */
ssm2d_status model_export_available(ssm2d_error *error);

#endif
