/* pool_costs - measures the cost of cache lines that move between the threads of a pool. */
#include "pool_schedule.h"

#include "bench.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/processors.h"

#include <stdatomic.h>

const pool_costs typical_pool_costs = {.signal = 200e-9, .counter = 60e-9, .line = 30e-9};

enum { ROUNDS = 2001, TAKES = 2000, LINES = 63, LINE = 64, REPEATS = 15 };

typedef struct shared_lines {
    _Alignas(LINE) _Atomic int arrived; /* threads at the barrier */
    _Alignas(LINE) _Atomic long counter;
    struct {
        _Alignas(LINE) _Atomic int left;
    } workers[LINES];
    double seconds;
} shared_lines;

static void barrier(shared_lines *m, int round)
{
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) < 2 * round) {
    }
}

/* The threads increment the counter in turn, each as soon as it sees the other's increment: without
 * taking turns, a processor would keep the line for many increments. The line moves twice for each
 * increment: for reading, and for writing. */
static void alternate(void *arg, size_t task, int worker)
{
    shared_lines *m = arg;
    (void)worker;
    barrier(m, 1);
    const double start = clock_seconds();
    for (int i = 0; i < TAKES; i++) {
        while ((size_t)atomic_load(&m->counter) % 2 != task) {
        }
        atomic_fetch_add(&m->counter, 1);
    }
    if (task == 0) m->seconds = (clock_seconds() - start) / (2 * 2 * TAKES);
}

/* One thread writes as many lines as 64 threads have; the other reads them, as close_gate does. Not
 * in order, because the processor would prefetch them, which it cannot do for lines that different
 * processors have written. */
static void read_lines(void *arg, size_t task, int worker)
{
    shared_lines *m = arg;
    (void)worker;
    barrier(m, 1);
    for (int i = 0; task == 1 && i < LINES; i++) atomic_store(&m->workers[i].left, 1);
    barrier(m, 2);
    if (task == 1) return;
    const double start = clock_seconds();
    for (int i = 0; i < LINES; i++)
        while (!atomic_load(&m->workers[i * 29 % LINES].left)) {
        }
    m->seconds = (clock_seconds() - start) / LINES;
}

/* Makes sure that both threads take part in a run. */
static void only_barrier(void *arg, size_t task, int worker)
{
    (void)task;
    (void)worker;
    barrier(arg, 1);
}

/* The median of a few runs: on a busy machine one of the two threads may not run for a while. */
static double median_of(pool *p, pool_task run)
{
    double times[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        shared_lines m = {.seconds = 0};
        pool_run(p, 2, run, &m);
        times[i] = m.seconds;
    }
    return bench_median(times, REPEATS);
}

/* The time of a run that both threads take part in. */
static double shared_run(pool *p)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        shared_lines m = {.seconds = 0};
        const double start = clock_seconds();
        pool_run(p, 2, only_barrier, &m);
        times[i] = clock_seconds() - start;
    }
    return bench_median(times, ROUNDS);
}

ssm2d_status pool_costs_measure(pool_costs *costs, ssm2d_error *error)
{
    ssm2d_context *context;
    ssm2d_context_options o;
    *costs = typical_pool_costs;
    if (processors_available() < 2) return SSM2D_OK;
    ssm2d_context_options_init(&o, sizeof o);
    o.threads = 2;
    ssm2d_status status = ssm2d_context_create(&o, &context, error);
    if (status) return status;
    costs->counter = median_of(context->pool, alternate);
    costs->line = median_of(context->pool, read_lines);
    /* The rest of a run: the worker takes a task, the caller sees it arrive, both find no task
     * left, and the caller reads one line. */
    const double rest = shared_run(context->pool) - 4 * costs->counter - costs->line;
    costs->signal = rest > costs->counter ? rest : costs->counter;
    ssm2d_context_destroy(context);
    return SSM2D_OK;
}
