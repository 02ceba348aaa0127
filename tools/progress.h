/* progress - shows the progress of a long job on standard error: one updated line on a terminal,
 * else a line every minute. */
#ifndef SSM2D_TOOLS_PROGRESS_H
#define SSM2D_TOOLS_PROGRESS_H

#include <stddef.h>

typedef struct progress {
    const char *what; /* "ssm2d filter: row" */
    size_t total;
    double
        shown_at; /* clock_seconds of the last line; the first appears after a second or minute */
    int terminal, lines;
} progress;

progress progress_start(const char *what, size_t total);
void progress_show(progress *p, size_t done);
/* The same as a hook: user is the progress. */
void progress_hook(void *user, size_t done, size_t total);
void progress_end(progress *p); /* removes the line */

#endif
