/* layer_case - a folder with one case of the bare layer: case.json, and one .npy per parameter, `u`
 * and `dy`.
 *
 * Arrays are channel-first, (batch, channels, rows, columns). The layer's parameter D is called
 * omega there. */
#ifndef SSM2D_TOOLS_LAYER_CASE_H
#define SSM2D_TOOLS_LAYER_CASE_H

#include "io/npy.h"
#include "ssm2d.h"

typedef struct layer_case {
    const char *folder;
    ssm2d_config config;
    size_t batch, rows, cols;
    size_t params_count, grid_count; /* elements of all parameters; of u */
    double *params, *u, *dy;         /* freed by layer_case_free */
} layer_case;

/* Reads and checks all files. The caller calls layer_case_free, after a failure as well. */
ssm2d_status layer_case_read(const ssm2d_context *context, const char *folder, layer_case *c,
                             ssm2d_error *error);
void layer_case_free(const ssm2d_context *context, layer_case *c);

/* Returns the name of a parameter's file without .npy. */
const char *layer_case_file(const ssm2d_param *param);
/* Reads the array in folder/PREFIXNAME.npy, which the caller frees with npy_free; refuses an array
 * of another shape. */
ssm2d_status layer_case_array(const ssm2d_context *context, const char *folder, const char *prefix,
                              const char *name, int rank, const size_t *shape, npy_array *array,
                              ssm2d_error *error);

/* Computes the gradient of the loss with respect to each direction's kernel,
 * dkernel[directions][channels][rows][cols], by its definition: a plain correlation of u with the
 * gradient at the convolution's output. */
ssm2d_status layer_case_dkernel(ssm2d_context *context, const layer_case *c, double *dkernel,
                                ssm2d_error *error);

#endif
