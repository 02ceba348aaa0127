/* layer_case - a folder with one test case of a single layer: case.json, and one .npy per
 * parameter, `u` and `dy`. "kind" in case.json says what kind of layer it is. */
#ifndef SSM2D_TOOLS_LAYER_CASE_H
#define SSM2D_TOOLS_LAYER_CASE_H

#include "io/npy.h"
#include "layers/layer_kind.h"

#include <cjson/cJSON.h>

typedef struct layer_case {
    const char *folder;
    ssm2d_layer layer;
    size_t batch;
    ssm2d_grid grid;
    size_t params_count, grid_count; /* elements of all parameters; of u */
    double *params, *u, *dy;         /* freed by layer_case_free */
} layer_case;

/* Reads and checks all files. The caller calls layer_case_free, after a failure as well. */
ssm2d_status layer_case_read(const ssm2d_context *context, const char *folder, layer_case *c,
                             ssm2d_error *error);
/* Fills in the members that come from case.json. */
ssm2d_status layer_case_parse(const char *path, const cJSON *root, layer_case *c,
                              ssm2d_error *error);
void layer_case_free(const ssm2d_context *context, layer_case *c);

/* Reads the array in folder/NAME.npy, which the caller frees with npy_free; refuses an array of
 * another shape. */
ssm2d_status layer_case_array(const ssm2d_context *context, const char *folder, const char *name,
                              int rank, const size_t *shape, npy_array *array, ssm2d_error *error);

/* The i-th parameter under the name of its file, without .npy; 0: there is none. */
int layer_case_param(const layer_case *c, int i, ssm2d_param *param);
/* The shape and strides of u, dy, y and du in files; returns the rank. The shape is (batch,
 * channels, rows, columns), or for layers that see a sequence in raster order (cells, batch,
 * channels), as in Mega. */
int layer_case_grid(const layer_case *c, size_t shape[4], ssm2d_strides *strides);

/* Computes the gradient of the loss with respect to each direction's kernel,
 * dkernel[directions][channels][rows][cols], by its definition: a plain correlation of u with the
 * gradient at the convolution's output. */
ssm2d_status layer_dkernel(ssm2d_context *context, const layer_case *c, double *dkernel,
                           ssm2d_error *error);

#endif
