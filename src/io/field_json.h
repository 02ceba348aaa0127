/* field_json - the fields of a configuration (core/field.h) from and to JSON. */
#ifndef SSM2D_IO_FIELD_JSON_H
#define SSM2D_IO_FIELD_JSON_H

#include "core/field.h"

#include <cjson/cJSON.h>

/* Sets the field f of config from a JSON value. On failure config is unchanged. */
ssm2d_status field_from_json(field_source from, const ssm2d_field *f, const cJSON *value,
                             void *config, ssm2d_error *error);
/* Adds the field to an object under its name; returns 0 if out of memory. */
int field_add_to_json(cJSON *object, const ssm2d_field *f, const void *config);

/* Returns the error for an unknown key; the message suggests the closest of the NULL-terminated
 * list of names. */
ssm2d_status field_refuse_key(field_source from, const char *key, const char *const *names,
                              ssm2d_error *error);

#endif
