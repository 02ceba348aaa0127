/* layer_setup - a layer from a JSON file: the fields of its configuration, `init` and `seed`; and
 * its parameters. */
#ifndef SSM2D_TOOLS_LAYER_SETUP_H
#define SSM2D_TOOLS_LAYER_SETUP_H

#include "ssm2d.h"

typedef struct layer_setup {
    ssm2d_config config;
    ssm2d_init init;
    uint64_t seed;
} layer_setup;

/* The i-th way to initialise by name, NULL past the last. */
const char *layer_init_name(int i);

layer_setup layer_setup_default(void); /* the library's; channels is 0 */
/* Fields given in the file replace those in *setup. The configuration is not checked: channels may
 * still be open. */
ssm2d_status layer_setup_read(const ssm2d_context *context, const char *path, layer_setup *setup,
                              ssm2d_error *error);
/* Options of the command line on top: OPTION_UNSET and NULL change nothing. */
void layer_setup_override(layer_setup *setup, long seed, const char *init);
/* Checks the configuration and initialises its parameters in double; give them back with
 * mem_free. */
ssm2d_status layer_setup_params(const ssm2d_context *context, const layer_setup *setup,
                                double **params, ssm2d_error *error);

/* What the value of a field of the configuration is called: "relaxed", "16". */
const char *layer_field_text(const ssm2d_config *config, const char *field, char *text,
                             size_t size);

#endif
