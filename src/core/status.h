/* status - how every function that can fail reports it: a code, and one English line with field and
 * value. */
#ifndef SSM2D_CORE_STATUS_H
#define SSM2D_CORE_STATUS_H

#include "ssm2d.h"

/* Writes the line (when error is not NULL) and returns status, so that a refusal is one `return
 * fail(...)`. Control characters, which names of files may have, become '?'. */
ssm2d_status fail(ssm2d_error *error, ssm2d_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
