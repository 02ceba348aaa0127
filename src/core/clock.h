/* clock - the time for measuring how long something takes. */
#ifndef SSM2D_CORE_CLOCK_H
#define SSM2D_CORE_CLOCK_H

#include <time.h>

/* Returns seconds since some fixed moment; never runs backwards, whatever happens to the date. */
static inline double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
