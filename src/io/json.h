/* json - reading JSON files (cJSON) with bounds, and fields with messages that name file, field and
 * value. */
#ifndef SSM2D_IO_JSON_H
#define SSM2D_IO_JSON_H

#include "ssm2d.h"

#include <cjson/cJSON.h>

/* Parses a file of at most 16 MiB into *root, which the caller frees with cJSON_Delete. Refuses
 * anything after the value, nesting deeper than 64, duplicate keys in an object, and zero bytes,
 * raw or escaped, which would end a string early. A host's hooks for cJSON must set errno to ENOMEM
 * when they fail, as malloc does, for the error to be SSM2D_ERROR_MEMORY. */
ssm2d_status json_read(const ssm2d_context *context, const char *path, cJSON **root,
                       ssm2d_error *error);
/* The same for a regular file, or a link to one; pipes and devices are refused. */
ssm2d_status json_read_regular(const ssm2d_context *context, const char *path, cJSON **root,
                               ssm2d_error *error);
/* Writes the value to path, which appears complete or not at all, and deletes it. NULL is reported
 * as out of memory. */
ssm2d_status json_write(const ssm2d_context *context, const char *path, cJSON *root,
                        ssm2d_error *error);
/* The same from memory; name stands for the file in messages. */
ssm2d_status json_parse(const char *name, const char *text, size_t size, cJSON **root,
                        ssm2d_error *error);

/* Writes a value to text as messages show it (3, "polar", true, a list ..) and returns text. */
const char *json_show(const cJSON *value, char *text, size_t size);

/* Whether two objects differ; `what` then names the first key that does: "dim is 32 in A and 64 in
 * B", A and B being the names a and b. */
int json_difference(const cJSON *one, const cJSON *two, const char *a, const char *b, char *what,
                    size_t size);

/* Adds value to an object, or to a list when key is NULL. Takes over value, which may be NULL (out
 * of memory); returns whether it was added. */
int json_add(cJSON *object, const char *key, cJSON *value);

/* Read one field of an object; `file` is for messages. A missing key leaves *value unchanged, and
 * is an error only when required. A string belongs to the object. */
typedef enum json_need { JSON_OPTIONAL, JSON_REQUIRED } json_need;
ssm2d_status json_get_int(const char *file, const cJSON *object, const char *key, json_need need,
                          int low, int high, int *value, ssm2d_error *error);
ssm2d_status json_get_string(const char *file, const cJSON *object, const char *key, json_need need,
                             const char **value, ssm2d_error *error);

#endif
