/* export_model - exports a model with its weights to a file for other programs. */
#ifndef SSM2D_EXPORT_EXPORT_MODEL_H
#define SSM2D_EXPORT_EXPORT_MODEL_H

#include "export/onnx_graph.h"
#include "models/model.h"

typedef struct model_export {
    const model_config *config; /* finished */
    const float *params;        /* the model's weights, at its image size */
    size_t batch;               /* images; 0: variable */
    int features;               /* > 0: the tokens after this many blocks are an output */
    onnx_file file;             /* path, notes and progress; the export sets the rest */
} model_export;

/* Writes ONNX: input `images` [N][channels][rows][cols], which are normalised; outputs `logits`
 * [N][outputs] and, if asked for, `features` [N][tokens][dim]. */
ssm2d_status model_export_onnx(ssm2d_context *context, const model_export *what,
                               ssm2d_error *error);
/* In a build without ONNX this fails and names the missing packages. */
ssm2d_status model_export_available(ssm2d_error *error);

#endif
