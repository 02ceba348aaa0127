/* weights_match - matches the arrays of a file with those of the model. */
#ifndef SSM2D_MODELS_WEIGHTS_MATCH_H
#define SSM2D_MODELS_WEIGHTS_MATCH_H

#include "io/safetensors.h"
#include "models/weights.h"

/* What belongs to an 8-bit array NAME of a file: its scales, one for each row, and the scale and
 * zero of what it is multiplied by; named NAME and one of these. */
enum { QUANTIZED_SCALE, QUANTIZED_INPUT_SCALE, QUANTIZED_INPUT_ZERO, QUANTIZED_PARTS };
extern const char *const quantized_parts[QUANTIZED_PARTS];

/* Sets found[i] to the file's array for array i of the model, or NULL: by its name, or by one that
 * the family knows from published files. Refuses arrays that the model does not have, so that
 * nothing is ignored by mistake. found: [w->count], zeroed. quantized: the file may have the
 * parts of 8-bit arrays. */
ssm2d_status weights_match(const weights *w, const char *path, const safetensors *file,
                           int quantized, const safetensors_array **found, ssm2d_error *error);

#endif
