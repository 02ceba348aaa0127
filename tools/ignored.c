#include "ignored.h"

#include "io/image.h"
#include "io/text.h"

#include <stdio.h>

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
