/* build - a model's graph. Compiled for float and double. */
#ifndef SSM2D_MODELS_BUILD_H
#define SSM2D_MODELS_BUILD_H

#include "graph/graph.h"
#include "models/model.h"

/* Declares the input "images" [batch][channels][rows][cols] and returns the logits
 * [batch][classes], for a loss to be added. */
tensor *model_build(graph *g, const model_config *c, size_t batch);

#endif
