/* receptive_field - the effective receptive field of a model: how much the centre token's output
 * depends on each pixel of the input.
 *
 * For one image, J = d(token)/d(pixel) has a row for each channel of the token. A random vector of
 * signs v gives v^T J by one backward pass, and the mean of its squares over images is that of the
 * squares of J. The field is the root of it, summed over the channels of the pixel. */
#ifndef SSM2D_MODELS_RECEPTIVE_FIELD_H
#define SSM2D_MODELS_RECEPTIVE_FIELD_H

#include "models/weights.h"

typedef struct receptive_field receptive_field;

/* Of the tokens after the first `blocks` blocks of the model, or after the last one when blocks is
 * 0. config is one that model_config_finish has checked; w and params are its weights, and are no
 * longer needed afterwards. */
ssm2d_status receptive_field_create(ssm2d_context *context, const model_config *config,
                                    const weights *w, const float *params, int blocks,
                                    receptive_field **out, ssm2d_error *error);
void receptive_field_destroy(receptive_field *r);
/* Adds one image [channels][rows][cols]. Returns 0, and leaves it out, when its derivatives are not
 * finite. */
int receptive_field_add(receptive_field *r, const float *image);
/* field[rows][cols] of the images so far, the largest value being 1. */
void receptive_field_get(const receptive_field *r, double *field);
/* Half the side of the smallest square about the centre token, in pixels, that holds this share
 * (0 .. 1) of the field's squares. */
int receptive_field_radius(const receptive_field *r, double share);

#endif
