/* model_open_impl - what opening the folder of a run and opening a model file share. */
#ifndef SSM2D_INFERENCE_MODEL_OPEN_IMPL_H
#define SSM2D_INFERENCE_MODEL_OPEN_IMPL_H

#include "inference/trained_model.h"

#include <cjson/cJSON.h>

/* The names of a model's parts in messages: "config.json" of a folder, "config" of a file. */
typedef struct model_parts {
    const char *config, *data, *settings;
} model_parts;

/* Reads how images are resized and the loss, which defines what logits mean. All other settings
 * concern training and are ignored. */
ssm2d_status model_read_settings(const char *name, const cJSON *root, ssm2d_model *m,
                                 ssm2d_error *error);
/* Refuses parts that do not fit together. */
ssm2d_status model_check_run(const char *name, const model_parts *parts, const ssm2d_model *m,
                             ssm2d_error *error);
/* Completes the configuration and allocates its parameters. name: origin of the configuration;
 * path: file that the parameters will be read from; NULL: none. */
ssm2d_status model_allocate_params(ssm2d_model *m, const char *name, const char *path,
                                   ssm2d_error *error);

#endif
