/* status - how every function that can fail reports it: a code, and one English line with field and
 * value. */
#ifndef SSM2D_CORE_STATUS_H
#define SSM2D_CORE_STATUS_H

#include "ssm2d.h"

/* Writes the line (unless error is NULL) and returns status, so that an error is one `return
 * fail(...)`. Control characters, which file names may contain, become '?'. */
ssm2d_status fail(ssm2d_error *error, ssm2d_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns SSM2D_ERROR_MEMORY with the line "out of memory: WHAT", where the format says what the
 * memory was for: `return fail_memory(error, "%zu kernels", count)`. */
ssm2d_status fail_memory(ssm2d_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
