/* progress - one line on a terminal that says how far a long job is; nothing when standard error is
 * no terminal. */
#ifndef SSM2D_TOOLS_PROGRESS_H
#define SSM2D_TOOLS_PROGRESS_H

#include <stddef.h>

typedef struct progress {
    const char *what; /* "ssm2d filter: row" */
    size_t total;
    double shown_at; /* seconds; the first line comes after one second, then four a second */
    int terminal, lines;
} progress;

progress progress_start(const char *what, size_t total);
void progress_show(progress *p, size_t done);
void progress_end(progress *p); /* removes the line */

#endif
