/* pool - a small fork-join pool over pthreads.
 *
 * The caller is worker 0. A run hands out task numbers: each worker, or each group of them, has a
 * part of the tasks, which it takes in order, and when that is done it takes from the other parts.
 * Which worker takes which task is left to chance, so that a task must write only what is its own,
 * and results do not depend on the number of threads. A run that finds the pool busy (another
 * thread is in it) does all its tasks itself, as worker 0. After fork the child starts threads of
 * its own. */
#ifndef SSM2D_CORE_POOL_H
#define SSM2D_CORE_POOL_H

#include "ssm2d.h"

typedef struct pool pool;

typedef void (*pool_task)(void *arg, size_t task, int worker);

/* Up to POOL_GROUPS workers have a part of the tasks each, more of them share one: tasks are in the
 * order of memory, so that rows of a batch are worked on by the same processor in one operator
 * after the other and stay in its cache, while a worker that is done has few places to look at. */
enum { POOL_GROUPS = 8 };
static inline size_t pool_group_size(size_t threads)
{
    return (threads + POOL_GROUPS - 1) / POOL_GROUPS;
}

/* The end of group i's part of the tasks, which begins where that of the group before it ends. */
static inline size_t pool_group_end(size_t tasks, size_t threads, size_t i)
{
    const size_t workers = (i + 1) * pool_group_size(threads);
    return workers < threads ? tasks / threads * workers + tasks % threads * workers / threads
                             : tasks;
}

/* memory: at least pool_bytes(threads), aligned to 64, owned by the caller. */
size_t pool_bytes(int threads);
ssm2d_status pool_start(void *memory, int threads, pool **out, ssm2d_error *error);
void pool_stop(pool *p);
/* For those that need something for each worker, or cut work for as many. */
int pool_threads(const pool *p);
void pool_run(pool *p, size_t tasks, pool_task run, void *arg);

/* For measuring: told when a run begins, when each of its tasks is done, and when it ends. */
typedef struct pool_watcher {
    void *arg;
    void (*begin)(void *arg, size_t tasks);
    void (*task_done)(void *arg);
    void (*end)(void *arg);
} pool_watcher;

/* Watches the runs of a pool of one thread; those of larger pools are not watched. The watcher is
 * borrowed; NULL ends it. Not while the pool runs. */
void pool_watch(pool *p, const pool_watcher *watcher);
/* For measuring as well: lets pool_threads of a pool of one thread say that there are so many, so
 * that work is cut into the tasks that as many threads would have. */
void pool_pretend(pool *p, int threads);

#endif
