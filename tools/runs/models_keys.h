/* models_keys - the keys of a model's configuration, for ssm2d models --keys. */
#ifndef SSM2D_TOOLS_MODELS_KEYS_H
#define SSM2D_TOOLS_MODELS_KEYS_H

#include "ssm2d.h"

/* Prints the keys of each family and each mixer, with their help. */
ssm2d_status models_keys_text(ssm2d_error *error);
/* Prints them as JSON with kinds and bounds, and with their values in every model, including hidden
 * ones, and in each of its mixers: enough for another program to read a configuration as this one
 * does. */
ssm2d_status models_keys_json(ssm2d_error *error);

#endif
