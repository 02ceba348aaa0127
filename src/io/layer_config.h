/* layer_config - ssm2d_config from JSON: the keys of the layer's field table, and the older keys
 * that stand for them.
 *
 *     complex, complex_form    values: real (false), polar or cartesian
 *     normalize                layer_norm
 *     trunc                    null or [rows, columns]: trunc_rows and trunc_cols */
#ifndef SSM2D_IO_LAYER_CONFIG_H
#define SSM2D_IO_LAYER_CONFIG_H

#include "core/field.h"

#include <cjson/cJSON.h>

/* Replaces the fields of *config that `object` gives. A key that is neither a field, nor an older
 * key, nor in `others` (a NULL-terminated list) is an error with a suggestion. Does not run
 * ssm2d_config_check. */
ssm2d_status layer_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, ssm2d_config *config,
                                    ssm2d_error *error);

extern const char *const layer_config_old_keys[]; /* NULL-terminated */

/* Replaces the fields of *config that older keys of `object` give; passes over all other keys. */
ssm2d_status layer_config_read_old(field_source from, const cJSON *object, ssm2d_config *config,
                                   ssm2d_error *error);

#endif
