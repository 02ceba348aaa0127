/* calibration - how the linear layers of a model are quantised to 8 bits, from what they read on
 * some images.
 *
 * The images are run twice through the model in float32: first for the range of each layer's input,
 * then for its histogram. The range that is kept is the one with the least mean squared error:
 * values outside are cut off. */
#ifndef SSM2D_TRAIN_CALIBRATION_H
#define SSM2D_TRAIN_CALIBRATION_H

#include "inference/trained_model.h"
#include "models/quantized.h"

typedef struct calibration calibration;

/* The caller destroys it. The model must outlive it. */
ssm2d_status calibration_create(ssm2d_context *context, const ssm2d_model *m, size_t batch,
                                calibration **out, ssm2d_error *error);
void calibration_destroy(calibration *c); /* accepts NULL */
/* Runs images[count][channels][rows][cols], count <= batch. */
void calibration_run(calibration *c, const float *images, size_t count);
/* All images have been run once; the same ones follow again. */
void calibration_second(calibration *c);
/* After the second time; the caller frees *out with mem_free. Fails if a layer reads values that
 * are not finite. */
ssm2d_status calibration_end(const calibration *c, quantization **out, ssm2d_error *error);

#endif
