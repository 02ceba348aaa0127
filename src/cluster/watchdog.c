#include "cluster/watchdog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

process_state process_state_of(long process)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *f = fopen(path, "r");
    if (!f) { /* /proc works, and the process has no entry in it */
        const int is_gone = errno == ENOENT || errno == ESRCH;
        return is_gone && !access("/proc/self/stat", R_OK) ? PROCESS_ENDED : PROCESS_RUNS;
    }
    const size_t length = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[length] = 0;
    const char *end = strrchr(text, ')'); /* the name before it may contain any character */
    const char state = end && end[1] == ' ' ? end[2] : ' ';
    if (state == 'Z' || state == 'X') return PROCESS_ENDED; /* Z: a zombie */
    return state == 'T' || state == 't' ? PROCESS_STOPPED : PROCESS_RUNS;
}

static int waits(const board_place *p)
{
    return (int)(atomic_load_explicit(&p->event, memory_order_acquire) & 1);
}

/* The first process of this machine that blocks others: one that is stopped, else one that does not
 * wait itself. -1: all of them wait. */
static int find_culprit(const board *b, process_state (*state)(long process))
{
    for (int i = 0; b && i < b->size; i++)
        if (b->places[i].is_here && state(b->places[i].process) == PROCESS_STOPPED) return i;
    for (int i = 0; b && i < b->size; i++)
        if (b->places[i].is_here && !waits(&b->places[i])) return i;
    return -1;
}

/* The process of another machine that a process of this machine waits for, possibly through others;
 * or -1. */
static int follow(const board *b, const board_place *own)
{
    int who = atomic_load(&own->partner);
    for (int hops = 0; b && hops < b->size && who >= 0 && b->places[who].is_here; hops++)
        who = atomic_load(&b->places[who].partner);
    return b && who >= 0 && b->places[who].is_here ? -1 : who;
}

static void describe(const watchdog *w, const board *b, const board_place *own, int culprit,
                     const char *doing, char *line, size_t size)
{
    const int who = culprit >= 0 ? culprit : follow(b, own);
    if (who < 0)
        snprintf(line, size, "rank %d has waited for others for %.0f seconds: the job ends",
                 w->rank, w->timeout);
    else if (!b)
        snprintf(line, size, "rank %d has not answered rank %d for %.0f seconds: the job ends", who,
                 w->rank, w->timeout);
    else
        snprintf(line, size,
                 "rank %d (%s, process %ld) has not answered for %.0f seconds%s: the "
                 "job ends",
                 who, b->places[who].host, b->places[who].process, w->timeout, doing);
}

double watchdog_waited(watchdog *w, const board_place *own, double now,
                       process_state (*state)(long process))
{
    const uint64_t event = atomic_load_explicit(&own->event, memory_order_acquire);
    const double since = now - w->looked, max_step = 2; /* longer: the keeper itself was stopped */
    w->looked = now;
    if (event != w->event || !(event & 1)) {
        w->event = event;
        w->waited = 0;
    } else if (state(own->process) == PROCESS_RUNS)
        w->waited += since < max_step ? since : max_step;
    return w->waited;
}

/* Only the machine of the blocking process can name the cause, so it reports first; others, which
 * can only name the rank that they wait for, wait a quarter longer. */
int watchdog_look(watchdog *w, const board *b, const board_place *own, double now,
                  process_state (*state)(long process), char *line, size_t size)
{
    const double before = w->waited, waited = watchdog_waited(w, own, now, state);
    if (!(waited > before) || w->timeout <= 0 || waited <= w->timeout) return 0;
    const int culprit = find_culprit(b, state);
    if (culprit < 0 && w->waited <= 1.25 * w->timeout) return 0;
    const char *doing = culprit < 0 ? ""
                        : state(b->places[culprit].process) == PROCESS_STOPPED
                            ? ", as it is stopped"
                            : ", though it runs";
    describe(w, b, own, culprit, doing, line, size);
    return 1;
}
