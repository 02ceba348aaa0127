/* registry - models by name. Internal to src/models. */
#ifndef SSM2D_MODELS_REGISTRY_H
#define SSM2D_MODELS_REGISTRY_H

#include "models/model.h"

/* The error says which names there are, without a file or key. */
ssm2d_status model_find(const char *name, const model **found, ssm2d_error *error);

#endif
