/* tasks - how work is divided into tasks, enough for 64 threads.
 *
 * The number of tasks depends on shapes alone, never on the number of threads, so that sums over
 * tasks do not depend on it either. */
#ifndef SSM2D_CORE_TASKS_H
#define SSM2D_CORE_TASKS_H

#include "core/arith.h"
#include "core/pool.h"
#include "core/real.h"

/* The number of threads to keep busy: task counts are multiples of it where possible, so that all
 * threads finish together. */
enum { TASKS_THREADS = 64 };

/* The number of tasks for `count` items of which `piece` make a good task; where that gives few
 * tasks, an eighth of it is still worth the overhead. */
static inline size_t task_count(size_t count, size_t piece)
{
    const size_t tasks = div_up_size(count, piece),
                 rounded = div_up_size(tasks, TASKS_THREADS) * TASKS_THREADS;
    return min_size(rounded, div_up_size(count, div_up_size(piece, 8)));
}

/* The first of the `count` items that belongs to task i of `tasks`; a multiple of `unit`. */
static inline size_t task_begin(size_t count, size_t tasks, size_t i, size_t unit)
{
    const size_t units = div_up_size(count, unit);
    return min_size((units / tasks * i + units % tasks * i / tasks) * unit, count);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Adds up the partial sums of parts of the work, each in its own array, in the order of the parts;
 * each task adds some of the columns. Up to two arrays of `count` elements follow each other within
 * a part; to[i] may be NULL. */
typedef struct part_sums {
    real *to[2];      /* [count], added to */
    const real *from; /* [parts], stride elements apart */
    size_t parts, stride, count;
} part_sums;

enum { PART_SUMS_COLUMNS = 64 };

static inline void part_sums_task(void *arg, size_t task, int worker)
{
    (void)worker;
    const part_sums *s = arg;
    const size_t blocks = div_up_size(s->count, PART_SUMS_COLUMNS), which = task / blocks,
                 first = task % blocks * PART_SUMS_COLUMNS,
                 end = min_size(first + PART_SUMS_COLUMNS, s->count);
    real *to = s->to[which];
    if (!to) return;
    for (size_t part = 0; part < s->parts; part++) {
        const real *from = s->from + part * s->stride + which * s->count;
        for (size_t i = first; i < end; i++) to[i] += from[i];
    }
}

static inline void part_sums_add(pool *p, part_sums *s)
{
    pool_run(p, 2 * div_up_size(s->count, PART_SUMS_COLUMNS), part_sums_task, s);
}

#endif
