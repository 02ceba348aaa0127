#include "progress.h"

#include "core/clock.h"

#include <stdio.h>
#include <unistd.h>

progress progress_start(const char *what, size_t total)
{
    return (progress){what, total, clock_seconds(), isatty(STDERR_FILENO), 0};
}

void progress_show(progress *p, size_t done)
{
    if (!p->terminal) return;
    double now = clock_seconds();
    if (now - p->shown_at < (p->lines ? 0.25 : 1)) return;
    p->shown_at = now;
    p->lines++;
    fprintf(stderr, "\r%s %zu of %zu (%.0f %%)", p->what, done, p->total,
            100 * (double)done / (double)p->total);
}

void progress_end(progress *p)
{
    if (p->lines) fputs("\r\x1b[K", stderr);
}
