/* model_file - a trained model as one file (NAME.ssm2d): safetensors, whose metadata have what the
 * folder of a run has for inference.
 *
 *     format        "pt", for readers of PyTorch weights
 *     ssm2d_model   "1", the version of this format
 *     type          float32, bfloat16 or int8: the elements of linear layers' weights
 *     config        JSON, as config.json of a run
 *     data          JSON, as data.json: task, names of outputs, mean and standard deviation
 *     evaluation    JSON, settings of train.json: loss, eval_crop, interpolation
 *     weights       last or best: of which epoch the weights are
 *     card          optional: a description of the model in plain text
 *     grid          as in other files of weights (models/weights.h)
 *
 * bfloat16: weights of linear layers are stored in bfloat16, everything else in float32.
 *
 * int8: weights of quantised linear layers are stored as integers from -127 to 127, and beside an
 * array NAME there are NAME.scale, one float32 for each row, NAME.input_scale, a float32, and
 * NAME.input_zero, a byte without a sign: what is multiplied by row i is about input_scale * (q -
 * input_zero), q from 0 to 255, and the weights are scale[i] times the integers. */
#ifndef SSM2D_INFERENCE_MODEL_FILE_H
#define SSM2D_INFERENCE_MODEL_FILE_H

#include "inference/trained_model.h"

/* Whether the path is that of a file, not of a folder. */
int model_file_is(const char *path);
/* Reads such a file into a new model; image as for model_open_run. After a failure the model can
 * only be closed. */
ssm2d_status model_file_read(ssm2d_model *m, const char *path, const int image[2],
                             ssm2d_error *error);
/* Writes the model of a run as a file of this type, atomically. quantized: of ELEMENT_INT8, else
 * NULL. card: UTF-8; NULL: none. */
ssm2d_status model_file_write(const ssm2d_model *m, const char *path, element_type type,
                              const quantization *quantized, const char *card, ssm2d_error *error);
/* Whether an array is a factor of matrix products, which files of other types than float32 store in
 * their type. */
int model_file_is_factor(const param_array *a);

#endif
