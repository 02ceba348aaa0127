/* layer_setup - a layer of the kind ssm2d from a JSON file: its settings and `seed`; and its
 * parameters. */
#ifndef SSM2D_TOOLS_LAYER_SETUP_H
#define SSM2D_TOOLS_LAYER_SETUP_H

#include "layers/ssm2d/ssm2d_config.h"

typedef struct layer_setup {
    ssm2d_config config;
    uint64_t seed;
} layer_setup;

/* The name of the i-th choice of initial values, NULL past the last. */
const char *layer_init_name(int i);

layer_setup layer_setup_default(void); /* the library's defaults; channels is 0 */
/* Replaces the fields of *setup that the file gives. The layer is not checked, as channels may
 * still be unknown. */
ssm2d_status layer_setup_read(const ssm2d_context *context, const char *path, layer_setup *setup,
                              ssm2d_error *error);
/* Replaces seed and init by options of the command line; OPTION_UNSET and NULL change nothing. */
void layer_setup_override(layer_setup *setup, long seed, const char *init);
/* Checks the layer and initialises its parameters in double; the caller frees *params with
 * mem_free. */
ssm2d_status layer_setup_params(const ssm2d_context *context, const layer_setup *setup,
                                double **params, ssm2d_error *error);

#endif
