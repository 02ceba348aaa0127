/* receptive_field - the effective receptive field of a model: how much the centre token's output
 * depends on each pixel of the input.
 *
 * For one image, J = d(token)/d(pixel) has a row for each channel of the token. A random vector of
 * signs v gives v^T J by one backward pass. Its squares, summed over the channels of a pixel and
 * divided by their sum over the image, are the shares of the pixels. Derivatives of some images are
 * many times larger than those of others; by their shares all images count alike. The field is the
 * root of the mean of the shares over images. */
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
/* The distance in pixels from the centre token within which the shares of the pixels add up to
 * `share` (0 .. 1), in the image that was added last. 0 when all its derivatives are 0. */
int receptive_field_radius(const receptive_field *r, double share);

/* A rectangle of pixels. */
typedef struct pixel_box {
    int row, col, rows, cols;
} pixel_box;
/* The pixels of the centre token. */
pixel_box receptive_field_centre(const receptive_field *r);

#endif
