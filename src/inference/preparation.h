/* preparation - how pixels are converted to a model's input: as in the run's evaluation, or as the
 * caller specifies. */
#ifndef SSM2D_INFERENCE_PREPARATION_H
#define SSM2D_INFERENCE_PREPARATION_H

#include "inference/trained_model.h"

/* options and norm <- those of the run, overridden by `given` unless it is NULL. */
ssm2d_status preparation_read(const ssm2d_model *model, const ssm2d_model_preparation *given,
                              augment_options *options, normalisation *norm, ssm2d_error *error);

#endif
