/* weights_match - matches the arrays of a file with those of the model. */
#ifndef SSM2D_MODELS_WEIGHTS_MATCH_H
#define SSM2D_MODELS_WEIGHTS_MATCH_H

#include "io/safetensors.h"
#include "models/weights.h"

/* Sets found[i] to the file's array for array i of the model, or NULL: by its name, or by one that
 * the family knows from published files. Refuses arrays that the model does not have, so that
 * nothing is ignored by mistake. found: [w->count], zeroed */
ssm2d_status weights_match(const weights *w, const char *path, const safetensors *file,
                           const safetensors_array **found, ssm2d_error *error);

#endif
