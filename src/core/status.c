#include "core/status.h"

#include "core/printable.h"

#include <stdarg.h>
#include <stdio.h>

ssm2d_status fail(ssm2d_error *error, ssm2d_status status, const char *format, ...)
{
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->line, sizeof error->line, format, args);
        va_end(args);
        printable(error->line);
    }
    return status;
}

const char *ssm2d_status_name(ssm2d_status status)
{
    switch (status) {
    case SSM2D_OK: return "ok";
    case SSM2D_ERROR_ARGUMENT: return "argument";
    case SSM2D_ERROR_MEMORY: return "memory";
    case SSM2D_ERROR_UNSUPPORTED: return "unsupported";
    case SSM2D_ERROR_SYSTEM: return "system";
    }
    return "unknown";
}

const char *ssm2d_version(void) { return SSM2D_VERSION; }
