/* pool - a small fork-join pool over pthreads.
 *
 * The caller is worker 0. Each worker, or each group of workers, has a part of the tasks, which it
 * takes in order; then it takes tasks from the other parts. Which worker runs which task is not
 * determined, so a task must write only its own results, and results must not depend on the number
 * of threads. A run that finds the pool busy (another thread uses it) does all its tasks itself, as
 * worker 0. After fork the child starts its own threads. */
#ifndef SSM2D_CORE_POOL_H
#define SSM2D_CORE_POOL_H

#include "ssm2d.h"

typedef struct pool pool;

typedef void (*pool_task)(void *arg, size_t task, int worker);

/* Up to POOL_GROUPS workers have a part of the tasks each; more workers share parts. Tasks are in
 * the order of memory, so that the same processor works on the same rows of a batch in successive
 * operators and keeps them in its cache, while a worker that is done has few other groups to
 * check. */
enum { POOL_GROUPS = 8 };
static inline size_t pool_group_size(size_t threads)
{
    return (threads + POOL_GROUPS - 1) / POOL_GROUPS;
}

/* The end of group i's part of the tasks, which begins at the end of the previous group's part. */
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
/* The number of workers, for scratch memory per worker and for dividing work. */
int pool_threads(const pool *p);
void pool_run(pool *p, size_t tasks, pool_task run, void *arg);

/* Runs tasks 0 .. tasks - 1 in place of the pool's threads, as run(arg, task, 0); `threads` is what
 * pool_threads returns, so that work is cut for as many. */
typedef struct pool_executor {
    int threads;
    void *user;
    void (*execute)(void *user, size_t tasks, pool_task run, void *arg);
} pool_executor;

/* Hands every run to the executor, which is borrowed, until this is called with NULL. Not while the
 * pool runs. */
void pool_delegate(pool *p, const pool_executor *executor);

#endif
