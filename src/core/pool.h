/* pool - a small fork-join pool over pthreads.
 *
 * The caller is worker 0. A run hands out task numbers in order; which worker takes which task is
 * left to chance, so that a task must write only what is its own, and results do not depend on the
 * number of threads. A run that finds the pool busy (another thread is in it) does all its tasks
 * itself, as worker 0. After fork the child starts threads of its own. */
#ifndef SSM2D_CORE_POOL_H
#define SSM2D_CORE_POOL_H

#include "ssm2d.h"

typedef struct pool pool;

typedef void (*pool_task)(void *arg, size_t task, int worker);

/* memory: at least pool_bytes(threads), aligned to 64, owned by the caller. */
size_t pool_bytes(int threads);
ssm2d_status pool_start(void *memory, int threads, pool **out, ssm2d_error *error);
void pool_stop(pool *p);
int pool_threads(const pool *p);
void pool_run(pool *p, size_t tasks, pool_task run, void *arg);

#endif
