#include "core/status.h"

#include "core/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void write_line(ssm2d_error *error, const char *prefix, const char *format, va_list args)
{
    const size_t used = strlen(prefix);
    if (!error) return;
    memcpy(error->line, prefix, used);
    vsnprintf(error->line + used, sizeof error->line - used, format, args);
    printable(error->line);
}

ssm2d_status fail(ssm2d_error *error, ssm2d_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(error, "", format, args);
    va_end(args);
    return status;
}

ssm2d_status fail_memory(ssm2d_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(error, "out of memory: ", format, args);
    va_end(args);
    return SSM2D_ERROR_MEMORY;
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
