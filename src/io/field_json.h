/* field_json - the fields of a configuration (core/field.h) from and to JSON. */
#ifndef SSM2D_IO_FIELD_JSON_H
#define SSM2D_IO_FIELD_JSON_H

#include "core/field.h"

#include <cjson/cJSON.h>

/* On failure config is left as it is. */
ssm2d_status field_from_json(field_source from, const ssm2d_field *f, const cJSON *value,
                             void *config, ssm2d_error *error);
/* To be freed with cJSON_Delete; NULL without memory. */
cJSON *field_to_json(const ssm2d_field *f, const void *config);
/* Adds it to an object; returns whether there was memory for it. */
int field_add_to_json(cJSON *object, const ssm2d_field *f, const void *config);

/* Refuses a key that nobody knows, with a suggestion out of the NULL-ended list of names. */
ssm2d_status field_refuse_key(field_source from, const char *key, const char *const *names,
                              ssm2d_error *error);

#endif
