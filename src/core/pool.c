#include "core/pool.h"

#include "core/arith.h"
#include "core/float_mode.h"
#include "core/status.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#define relax() _mm_pause()
#elif defined(__aarch64__)
#define relax() __asm__ volatile("yield" ::: "memory")
#else
#define relax() ((void)0)
#endif

/* Long enough to bridge the gap between two operators of a model, short enough not to burn a core
 * between batches. */
enum { SPINS = 4000 };

/* Variables that different threads write have cache lines of their own (no false sharing). */
#define OWN_LINE _Alignas(64)

typedef struct worker {
    pool *owner;
    pthread_t thread;
    int index;
    /* Whether it is inside a round. Each worker has its own flag: the cache line of a shared
     * counter would move between all of them twice in every round. */
    OWN_LINE _Atomic int inside;
} worker;

/* The gate of a round: its index, and whether it is closed. A worker that arrives after the last
 * task was taken finds it closed, so that nobody waits for a thread that the system has not
 * scheduled yet: with more threads than processors, the caller may do all tasks itself. Only the
 * caller writes the gate. */
#define GATE_ROUND  2u
#define GATE_CLOSED 1u

static unsigned round_of(unsigned gate) { return gate / GATE_ROUND; }

/* The workers of a group take tasks from one counter, and help other groups when theirs are done.
 * The cache line of a counter is then shared by few threads, and workers with neighbouring indices,
 * which run on neighbouring processors, get the same part of the tasks, and of memory, in every
 * run. */
typedef struct group {
    OWN_LINE _Atomic size_t next; /* index of the next task */
    size_t end;                   /* written between runs only */
} group;

struct pool {
    /* written between runs only */
    pool_task run;
    void *arg;
    int threads, groups;
    group *group; /* [groups], after the workers */
    const pool_executor *executor;
    _Atomic int quit;
    _Atomic unsigned generation;    /* fork_generation when the threads were started */
    _Atomic unsigned restarting;    /* the generation for which a thread is starting them */
    OWN_LINE _Atomic unsigned gate; /* see GATE_ROUND; workers wait for its round to change */
    OWN_LINE _Atomic int busy;      /* a thread is in pool_run */
    OWN_LINE _Atomic int sleepers;  /* with the lock that guards it */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    worker workers[];
};

static _Atomic unsigned fork_generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void count_fork(void) { atomic_fetch_add(&fork_generation, 1); }
static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

static int groups_of(int threads) { return div_up(threads, (int)pool_group_size((size_t)threads)); }

static void take_tasks(pool *p, int index)
{
    const int own = index / (int)pool_group_size((size_t)p->threads);
    for (int i = 0; i < p->groups; i++) {
        group *g = &p->group[(own + i) % p->groups];
        while (atomic_load_explicit(&g->next, memory_order_relaxed) < g->end) {
            const size_t task = atomic_fetch_add_explicit(&g->next, 1, memory_order_relaxed);
            if (task >= g->end) break;
            p->run(p->arg, task, index);
        }
    }
}

/* Divides the tasks among the groups, by their threads. */
static void share_tasks(pool *p, size_t tasks)
{
    const size_t threads = (size_t)p->threads;
    size_t first = 0;
    for (int i = 0; i < p->groups; i++) {
        const size_t end = pool_group_end(tasks, threads, (size_t)i);
        atomic_store_explicit(&p->group[i].next, first, memory_order_relaxed);
        p->group[i].end = end;
        first = end;
    }
}

/* Waits for a round other than `seen`, and returns its index. */
static unsigned wait_for_round(pool *p, unsigned seen)
{
    unsigned now;
    for (int i = 0; i < SPINS; i++) {
        now = round_of(atomic_load_explicit(&p->gate, memory_order_acquire));
        if (now != seen) return now;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while ((now = round_of(atomic_load(&p->gate))) == seen) pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return now;
}

/* Returns whether the worker has entered, which it has not when the gate is closed. Either the
 * worker sees that the gate is closed, or the caller sees, after closing it, that the worker is
 * inside: both write before they read, with sequential consistency. */
static int enter(pool *p, worker *w)
{
    atomic_store(&w->inside, 1);
    if (!(atomic_load(&p->gate) & GATE_CLOSED)) return 1;
    atomic_store_explicit(&w->inside, 0, memory_order_release);
    return 0;
}

static void leave(worker *w) { atomic_store_explicit(&w->inside, 0, memory_order_release); }

static void open_gate(pool *p)
{
    const unsigned gate = atomic_load_explicit(&p->gate, memory_order_relaxed);
    atomic_store(&p->gate, (round_of(gate) + 1) * GATE_ROUND);
    if (atomic_load(&p->sleepers)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
}

/* Closes the gate, and waits until no worker is inside. */
static void close_gate(pool *p)
{
    atomic_store(&p->gate, atomic_load_explicit(&p->gate, memory_order_relaxed) | GATE_CLOSED);
    for (int i = 1; i < p->threads; i++)
        for (int spins = 0; atomic_load(&p->workers[i].inside); spins++) {
            if (spins < SPINS)
                relax();
            else
                /* the worker may be waiting for this processor */
                sched_yield();
        }
}

static void *work(void *arg)
{
    worker *w = arg;
    pool *p = w->owner;
    float_mode_set();
    for (unsigned seen = 0;;) {
        seen = wait_for_round(p, seen);
        if (atomic_load(&p->quit)) return NULL;
        /* a later round will do as well */
        if (enter(p, w)) {
            take_tasks(p, w->index);
            leave(w);
        }
    }
}

/* Resets the shared state and starts the threads; returns the number of threads, the caller
 * included. */
static int start_threads(pool *p)
{
    atomic_init(&p->gate, GATE_CLOSED);
    for (int i = 0; i < p->groups; i++) atomic_init(&p->group[i].next, 0);
    atomic_init(&p->sleepers, 0);
    atomic_init(&p->quit, 0);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    /* Workers inherit a mask that blocks every signal: handlers run in the program's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int running = 1;
    for (; running < p->threads; running++) {
        worker *w = &p->workers[running];
        w->owner = p;
        w->index = running;
        atomic_init(&w->inside, 0);
        if (pthread_create(&w->thread, NULL, work, w)) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return running;
}

static void stop_threads(pool *p, int running)
{
    atomic_store(&p->quit, 1);
    open_gate(p);
    for (int i = 1; i < running; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
}

size_t pool_bytes(int threads)
{
    return sizeof(pool) + (size_t)threads * sizeof(worker) + POOL_GROUPS * sizeof(group);
}

ssm2d_status pool_start(void *memory, int threads, pool **out, ssm2d_error *error)
{
    pool *p = memory;
    memset(p, 0, pool_bytes(threads));
    pthread_once(&fork_once, watch_forks);
    p->threads = threads;
    p->groups = groups_of(threads);
    p->group = (group *)(void *)&p->workers[threads];
    unsigned generation = atomic_load(&fork_generation);
    atomic_init(&p->restarting, generation);
    atomic_init(&p->generation, generation);
    int running = start_threads(p);
    if (running < threads) {
        stop_threads(p, running);
        return fail(error, SSM2D_ERROR_SYSTEM, "threads=%d: the system gave only %d threads",
                    threads, running);
    }
    *out = p;
    return SSM2D_OK;
}

void pool_stop(pool *p)
{
    /* A forked child has none of these threads, and the state of its locks is unknown. */
    if (p->generation == atomic_load(&fork_generation)) stop_threads(p, p->threads);
}

int pool_threads(const pool *p) { return p->executor ? p->executor->threads : p->threads; }

void pool_delegate(pool *p, const pool_executor *executor) { p->executor = executor; }

/* Starts the threads again in a forked child; one thread does so. Returns whether the pool can be
 * used. */
static int ready(pool *p)
{
    unsigned now = atomic_load(&fork_generation), then = atomic_load(&p->generation);
    if (then == now) return 1;
    if (!atomic_compare_exchange_strong(&p->restarting, &then, now)) return 0;
    p->threads = start_threads(p);
    p->groups = groups_of(p->threads);
    atomic_store(&p->busy, 0);
    atomic_store(&p->generation, now);
    return 1;
}

static void run_alone(const pool *p, size_t tasks, pool_task run, void *arg)
{
    if (p->executor)
        p->executor->execute(p->executor->user, tasks, run, arg);
    else
        for (size_t task = 0; task < tasks; task++) run(arg, task, 0);
}

void pool_run(pool *p, size_t tasks, pool_task run, void *arg)
{
    int idle = 0;
    const float_mode before = float_mode_set();
    if (tasks < 2 || p->executor || !ready(p) || p->threads == 1
        || !atomic_compare_exchange_strong(&p->busy, &idle, 1)) {
        run_alone(p, tasks, run, arg);
        float_mode_restore(before);
        return;
    }
    p->run = run;
    p->arg = arg;
    share_tasks(p, tasks);
    open_gate(p);
    take_tasks(p, 0);
    close_gate(p);
    atomic_store(&p->busy, 0);
    float_mode_restore(before);
}
