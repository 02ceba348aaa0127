/* receptive_field - the effective receptive field of a model: how much the centre token's output
 * depends on each pixel of the input.
 *
 * For one image, J = d(token)/d(pixel) has a row for each channel of the token. One backward pass
 * gives v^T J for a random vector of signs v. Its squares, summed over the channels of a pixel and
 * divided by their sum over the image, are the shares of the pixels. Shares give all images the
 * same weight, although derivatives of some are many times larger than those of others. The field
 * is the square root of the mean of the shares over images. */
#ifndef SSM2D_MODELS_RECEPTIVE_FIELD_H
#define SSM2D_MODELS_RECEPTIVE_FIELD_H

#include "models/weights.h"

typedef struct receptive_field receptive_field;

/* For the tokens after the first `blocks` blocks of the model; 0: after the last. config has been
 * checked by model_config_finish; w and params are its weights, which are copied. */
ssm2d_status receptive_field_create(ssm2d_context *context, const model_config *config,
                                    const weights *w, const float *params, int blocks,
                                    receptive_field **out, ssm2d_error *error);
void receptive_field_destroy(receptive_field *r);
/* Adds one image [channels][rows][cols]. Returns 0, and does not add it, if its derivatives are not
 * finite. */
int receptive_field_add(receptive_field *r, const float *image);
/* Writes field[rows][cols] over the images so far, scaled so that its maximum is 1. */
void receptive_field_get(const receptive_field *r, double *field);
/* The distance in pixels from the centre token within which the shares of the image added last sum
 * to `share` (0 .. 1). 0 if all its derivatives are 0. */
int receptive_field_radius(const receptive_field *r, double share);

/* A rectangle of pixels. */
typedef struct pixel_box {
    int row, col, rows, cols;
} pixel_box;
/* The pixels of the centre token. */
pixel_box receptive_field_centre(const receptive_field *r);

#endif
