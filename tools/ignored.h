/* ignored - messages about files in a data folder that are not used. */
#ifndef SSM2D_TOOLS_IGNORED_H
#define SSM2D_TOOLS_IGNORED_H

#include "ssm2d.h"

#include <stddef.h>

/* Prints to standard error how many images could not be read and were left out. */
void report_skipped(const char *command, size_t count, const ssm2d_error *first);
/* Prints to standard error how many non-image files were skipped; first is the path of one. */
void report_ignored(const char *command, size_t count, const char *first);

#endif
