/* written - what commands print about their result: the file that they wrote, or JSON. */
#ifndef SSM2D_TOOLS_WRITTEN_H
#define SSM2D_TOOLS_WRITTEN_H

#include "ssm2d.h"

#include <cjson/cJSON.h>

/* Prints "PATH: what, 12 kB" to standard output; without the size if PATH is not a regular file. */
void written_print(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
typedef enum json_layout { JSON_ONE_LINE, JSON_INDENTED } json_layout;
/* Prints a result as JSON to standard output, and deletes it. complete: 0 if some of it could not
 * be added, which is reported as out of memory. */
ssm2d_status result_print(cJSON *result, int complete, json_layout layout, ssm2d_error *error);

#endif
