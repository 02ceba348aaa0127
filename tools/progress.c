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
    double now = clock_seconds();
    if (now - p->shown_at < (!p->terminal ? 60 : p->lines ? 0.25 : 1)) return;
    p->shown_at = now;
    p->lines++;
    fprintf(stderr, "%s%s %zu of %zu (%.0f %%)%s", p->terminal ? "\r" : "", p->what, done, p->total,
            100 * (double)done / (double)p->total, p->terminal ? "" : "\n");
}

void progress_hook(void *user, size_t done, size_t total)
{
    progress *p = user;
    p->total = total;
    progress_show(p, done);
}

void progress_end(progress *p)
{
    if (p->lines && p->terminal) fputs("\r\x1b[K", stderr);
}
