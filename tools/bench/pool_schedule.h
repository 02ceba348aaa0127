/* pool_schedule - computes how long the pool of src/core takes with any number of threads, given
 * the times of the tasks.
 *
 * As in the pool, the caller opens a round, every thread takes the next task of its group when it
 * is free, and of the other groups when its own has none left, and the caller closes the round when
 * all are done. The costs of synchronisation are those of cache lines that move between processors:
 *
 *     signal   from the opening of a round until a waiting worker sees it
 *     counter  incrementing a task counter that another thread has used; the threads of a group do
 *              so one after another
 *     line     reading one of many lines that others have written: at the opening and the end of a
 *              round one per worker, and one for each group without tasks that a worker looks at
 *
 * Workers are assumed to spin, as they do when no serial work lies between two rounds. */
#ifndef SSM2D_TOOLS_POOL_SCHEDULE_H
#define SSM2D_TOOLS_POOL_SCHEDULE_H

#include "ssm2d.h"

#include <stddef.h>

typedef struct pool_costs {
    double signal, counter, line; /* seconds */
} pool_costs;

/* Returns the seconds of one run of `tasks` tasks, their times in `seconds`, with `threads`
 * threads. scratch: pool_schedule_bytes(threads), aligned as for any type. */
size_t pool_schedule_bytes(int threads);
double pool_schedule(const double *seconds, size_t tasks, int threads, const pool_costs *costs,
                     void *scratch);

/* Measures the costs on this machine, with a pool of two threads. With one processor it returns
 * typical_pool_costs. */
ssm2d_status pool_costs_measure(pool_costs *costs, ssm2d_error *error);
extern const pool_costs typical_pool_costs;

#endif
