#include "tools/written.h"

#include "core/status.h"
#include "io/image.h"
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

ssm2d_status written_check(const char *path, int replace, ssm2d_error *error)
{
    struct stat info;
    if (replace || lstat(path, &info) || S_ISDIR(info.st_mode)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: exists already: --force replaces it",
                text_path(path));
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

void report_ignored(const char *command, size_t count, const char *first)
{
    if (!count) return;
    fprintf(stderr, "ssm2d %s: %zu file%s in the data folder %s ignored, such as ", command, count,
            count == 1 ? "" : "s", count == 1 ? "is" : "are");
    text_print(stderr, first);
    fprintf(stderr, ": images are %s\n", image_endings((char[IMAGE_LIST]){0}));
}

void report_skipped(const char *command, size_t count, const ssm2d_error *first)
{
    if (!count) return;
    fprintf(stderr, "ssm2d %s: %zu image%s could not be read and %s left out, such as %s\n",
            command, count, count == 1 ? "" : "s", count == 1 ? "was" : "were", first->line);
}
