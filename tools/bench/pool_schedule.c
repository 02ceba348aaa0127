#include "pool_schedule.h"

#include "core/arith.h"
#include "core/pool.h"

/* A simulated thread. */
typedef struct worker {
    double free;            /* the time when it can take a task */
    int group, groups_left; /* from which it takes tasks; how many it will check after this one */
} worker;

typedef struct task_group {
    size_t next, end;
    double free; /* the time when its counter can be incremented */
} task_group;

size_t pool_schedule_bytes(int threads)
{
    return (size_t)threads * sizeof(worker) + POOL_GROUPS * sizeof(task_group);
}

/* Replaces the top of the heap, the worker that is free first, by `value`. */
static void replace_top(worker *workers, int count, worker value)
{
    int at = 0;
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && workers[child + 1].free < workers[child].free) child++;
        if (workers[child].free >= value.free) break;
        workers[at] = workers[child];
    }
    workers[at] = value;
}

double pool_schedule(const double *seconds, size_t tasks, int threads, const pool_costs *costs,
                     void *scratch)
{
    const int size = (int)pool_group_size((size_t)threads), groups = div_up(threads, size);
    task_group *group = scratch;
    worker *workers = (worker *)(void *)(group + groups);
    double end = 0;
    if (tasks < 2 || threads == 1) { /* the caller runs them without opening a round */
        for (size_t i = 0; i < tasks; i++) end += seconds[i];
        return end;
    }
    for (int i = 0; i < groups; i++)
        group[i] = (task_group){i ? group[i - 1].end : 0,
                                pool_group_end(tasks, (size_t)threads, (size_t)i), 0};
    const double opened = costs->line * groups;
    for (int i = 0; i < threads; i++)
        workers[i] = (worker){opened + (i ? costs->signal : 0), i / size, groups - 1};
    for (int active = threads; active;) {
        worker w = workers[0];
        task_group *g = &group[w.group];
        if (g->next < g->end) {
            const double begin = w.free > g->free ? w.free : g->free;
            g->free = begin + costs->counter;
            w.free = g->free + seconds[g->next++];
            end = w.free > end ? w.free : end;
            replace_top(workers, active, w);
        } else if (w.groups_left) {
            w.group = (w.group + 1) % groups;
            w.groups_left--;
            w.free += costs->line;
            replace_top(workers, active, w);
        } else {
            end = w.free > end ? w.free : end;
            active--;
            replace_top(workers, active, workers[active]);
        }
    }
    return end + costs->line * (threads - 1);
}
