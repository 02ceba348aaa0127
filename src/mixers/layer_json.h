/* layer_json - reads the settings of a layer from JSON: the keys of its kind's fields, and keys of
 * earlier versions, which only the 2-D SSM has:
 *
 *     complex, complex_form    values: real (false), polar or cartesian
 *     normalize                layer_norm
 *     trunc                    null or [rows, columns]: trunc_rows and trunc_cols */
#ifndef SSM2D_MIXERS_LAYER_JSON_H
#define SSM2D_MIXERS_LAYER_JSON_H

#include "layers/layer_kind.h"

#include <cjson/cJSON.h>

/* The defaults of keys that are missing in a file, as of version 0.2: for a single layer (2-D SSM:
 * directions 2, n_ssm 8, assign authors), and for a mixer in a model's file (assign authors). */
ssm2d_layer layer_file_default(const layer_kind *kind);
void layer_model_defaults(const layer_kind *kind, layer_values *values);

/* Sets the settings of *layer that `object` has. A key that is neither a setting, nor an older key,
 * nor in `others` (a NULL-terminated list) is an error with a suggestion. Does not run
 * layer_check. */
ssm2d_status layer_from_json(const char *file, const cJSON *object, const char *const *others,
                             ssm2d_layer *layer, ssm2d_error *error);

const char *const *layer_old_keys(const layer_kind *kind); /* NULL-terminated */
/* Whether a NULL-terminated list has the name; list may be NULL. */
int name_in_list(const char *name, const char *const *list);
/* Sets the settings of the older keys of `object`; ignores all other keys. */
ssm2d_status layer_read_old(field_source from, const cJSON *object, const layer_kind *kind,
                            layer_values *values, ssm2d_error *error);

#endif
