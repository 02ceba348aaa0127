/* preparation - how pixels become what a model reads: that of a run's evaluation, or what a caller
 * says instead. */
#ifndef SSM2D_INFERENCE_PREPARATION_H
#define SSM2D_INFERENCE_PREPARATION_H

#include "inference/trained_model.h"

/* options and norm <- those of the run, changed to what `given` says (NULL: nothing). */
ssm2d_status preparation_read(const ssm2d_model *model, const ssm2d_model_preparation *given,
                              augment_options *options, normalisation *norm, ssm2d_error *error);

#endif
