#include "tools/written.h"

#include "core/status.h"
#include "io/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

void written_print(const char *path, const char *format, ...)
{
    struct stat info;
    va_list args;
    text_print(stdout, path);
    fputs(": ", stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    if (!stat(path, &info) && S_ISREG(info.st_mode)) {
        const double bytes = (double)info.st_size;
        printf(bytes < 1e5 ? ", %.1f kB" : ", %.1f MB", bytes / (bytes < 1e5 ? 1e3 : 1e6));
    }
    putchar('\n');
}

ssm2d_status result_print(cJSON *result, int complete, json_layout layout, ssm2d_error *error)
{
    char *text = !complete                 ? NULL
                 : layout == JSON_INDENTED ? cJSON_Print(result)
                                           : cJSON_PrintUnformatted(result);
    cJSON_Delete(result);
    if (!text) return fail_memory(error, "result");
    puts(text);
    cJSON_free(text);
    return SSM2D_OK;
}
