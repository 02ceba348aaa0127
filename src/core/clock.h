/* clock - a clock for measuring durations. */
#ifndef SSM2D_CORE_CLOCK_H
#define SSM2D_CORE_CLOCK_H

#include <time.h>

/* Returns seconds of a monotonic clock, which changes of the date do not affect. */
static inline double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
