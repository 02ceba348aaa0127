/* layer_config - ssm2d_config from JSON: the keys of the layer's field table, and the forms the
 * golden cases use. */
#ifndef SSM2D_IO_LAYER_CONFIG_H
#define SSM2D_IO_LAYER_CONFIG_H

#include "ssm2d.h"

#include <cjson/cJSON.h>

/* Fields given in `object` replace those in *config. Accepted: every name of ssm2d_config_fields()
 * (enums by name, flags as true/false); and `complex` + `complex_form` for values, `normalize` for
 * layer_norm, `trunc` (null or [rows, cols]). A key that is neither one of those nor in `others` (a
 * NULL-ended list) is an error with a suggestion. Does not run ssm2d_config_check. */
ssm2d_status layer_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, ssm2d_config *config,
                                    ssm2d_error *error);

/* The name in the NULL-ended list `names` that is closest to `wrong`, or NULL when none is close
 * enough to suggest. */
const char *closest_name(const char *wrong, const char *const *names);

#endif
