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
    size_t params_count, grid_count; /* numbers in all parameters; in u */
    double *params, *u, *dy;         /* taken from the context */
} layer_case;

/* Reads and checks everything. Give it back with layer_case_free, whatever happened. */
ssm2d_status layer_case_read(const ssm2d_context *context, const char *folder, layer_case *c,
                             ssm2d_error *error);
void layer_case_free(const ssm2d_context *context, layer_case *c);

/* What a parameter's file is called, without .npy. */
const char *layer_case_file(const ssm2d_param *param);
/* Reads folder/prefix+name.npy and refuses another shape. */
ssm2d_status layer_case_array(const ssm2d_context *context, const char *folder, const char *prefix,
                              const char *name, int rank, const size_t *shape, npy_array *array,
                              ssm2d_error *error);

/* The loss's gradient for each direction's kernel, dkernel[directions][channels][rows][cols], by
 * its definition: a plain correlation of u with the gradient at the convolution's output. */
ssm2d_status layer_case_dkernel(ssm2d_context *context, const layer_case *c, double *dkernel,
                                ssm2d_error *error);

#endif
