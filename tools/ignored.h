/* ignored - a word about files in a data folder that are not used. */
#ifndef SSM2D_TOOLS_IGNORED_H
#define SSM2D_TOOLS_IGNORED_H

#include "ssm2d.h"

#include <stddef.h>

/* Says on standard error how many images could not be read and were left out. */
void report_skipped(const char *command, size_t count, const ssm2d_error *first);
/* Prints a line on standard error when some files were passed over; first is the path of one. */
void report_ignored(const char *command, size_t count, const char *first);

#endif
