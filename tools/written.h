/* written - messages that several commands print: the file that they wrote, a result as JSON, and
 * files of a data folder that are not used. */
#ifndef SSM2D_TOOLS_WRITTEN_H
#define SSM2D_TOOLS_WRITTEN_H

#include "ssm2d.h"

#include <cjson/cJSON.h>

/* Prints "PATH: what, 12 kB" to standard output; without the size if PATH is not a regular file. */
void written_print(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Refuses a path at which there is something, unless it is to be replaced. */
ssm2d_status written_check(const char *path, int replace, ssm2d_error *error);
typedef enum json_layout { JSON_ONE_LINE, JSON_INDENTED } json_layout;
/* Prints a result as JSON to standard output, and deletes it. complete: 0 if some of it could not
 * be added, which is reported as out of memory. */
ssm2d_status result_print(cJSON *result, int complete, json_layout layout, ssm2d_error *error);

/* Prints to standard error how many images could not be read and were left out. */
void report_skipped(const char *command, size_t count, const ssm2d_error *first);
/* Prints to standard error how many non-image files were skipped; first is the path of one. */
void report_ignored(const char *command, size_t count, const char *first);

#endif
