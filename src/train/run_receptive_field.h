/* run_receptive_field - the effective receptive field of a run's model (receptive_field.h), on an
 * image file or on test images of a data set. */
#ifndef SSM2D_TRAIN_RUN_RECEPTIVE_FIELD_H
#define SSM2D_TRAIN_RUN_RECEPTIVE_FIELD_H

#include "models/receptive_field.h"
#include "train/run_folder.h"

typedef struct run_receptive_field_request {
    const char *folder; /* of the run; m is its model */
    const run_model *m;
    /* an image file, data whose test images to take, or "test" for those of the run */
    const char *images;
    size_t count; /* images to take from a data set, spread over it */
    int block;    /* use the tokens after this block, from 1; 0: after the last */
    void *user;
    void (*progress)(void *user, size_t done, size_t of); /* or NULL */
} run_receptive_field_request;

/* Median and quartiles over images. */
typedef struct quartiles {
    double low, median, high;
} quartiles;

typedef struct run_receptive_field {
    double *values; /* [rows][cols]; the largest is 1 */
    int rows, cols;
    pixel_box centre; /* of the centre token */
    size_t images;    /* that were used */
    /* radii in pixels around the centre token that contain 50, 90 and 99 % of the squared
     * derivatives of an image */
    quartiles radius[3];
} run_receptive_field;

/* Fills in *field, which the caller destroys, also after a failure. */
ssm2d_status run_receptive_field_compute(ssm2d_context *context,
                                         const run_receptive_field_request *request,
                                         run_receptive_field *field, ssm2d_error *error);
void run_receptive_field_destroy(const ssm2d_context *context, run_receptive_field *field);

/* A radius as text: "3", or for several images "3 (quartiles 2 and 5.5)". */
enum { QUARTILES_TEXT = 80 };
const char *quartiles_text(quartiles radius, size_t images, char text[QUARTILES_TEXT]);
/* Quartiles of values[count], which are sorted in place; count is at least 1. Interpolates between
 * two values as NumPy's quantile does. */
quartiles quartiles_of(double *values, size_t count);

#endif
