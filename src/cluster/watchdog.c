/* watchdog - what a process does while it waits for others: rest, and notice when it is in vain.
 *
 * A process of the same machine that has ended is seen in /proc. One that hangs, or was on a
 * machine that is gone, does not answer: everybody who waits for long sends the first process
 * notes, so that this one knows, when its own patience ends, who has sent none of late and is to
 * blame. The others have a little more patience, and blame the first. */
#include "cluster/cluster.h"
#include "core/clock.h"
#include "core/status.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Rounds that only test, as an answer is mostly there within microseconds, and that let another
 * process run; after them the process sleeps between tests. */
enum { SPINS = 200, YIELDS = 4000 };
static const double look_every = 0.01; /* seconds */

cluster_wait cluster_wait_begin(void) { return (cluster_wait){.began = -1}; }

/* Whether a process of this machine has ended; one that nobody has waited for is a zombie. */
static int has_ended(long process)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *f = fopen(path, "r");
    if (!f) return 1;
    const size_t length = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[length] = 0;
    const char *state = strrchr(text, ')'); /* the name before it may have any character */
    return state && (state[1] == ' ') && (state[2] == 'Z' || state[2] == 'X');
}

/* The first process that has ended, or -1. */
static int find_ended(const cluster *c)
{
    const cluster_peer *own = &c->peers[c->rank];
    for (int i = 0; i < c->size; i++)
        if (i != c->rank && c->peers[i].process && c->peers[i].machine == own->machine
            && has_ended(c->peers[i].process))
            return i;
    return -1;
}

/* One of those that live reports it. It says so to the others, who might see it end before them and
 * take it for the cause. */
static ssm2d_status lose(cluster *c, int who, const char *why, ssm2d_error *error)
{
    static const char over = 1;
    c->is_lost = 1;
    c->speaks = c->rank == (who == 0 ? 1 : 0);
    for (int i = 0; i < c->size && c->speaks; i++) {
        transport_request r = {0}; /* so short that it is sent at once */
        if (i != who && i != c->rank) c->transport.send(&over, sizeof over, i, TAG_LOST, &r);
    }
    return fail(error, SSM2D_ERROR_SYSTEM, "rank %d (%s, process %ld) %s: the job ends", who,
                c->peers[who].host, c->peers[who].process, why);
}

static ssm2d_status note(cluster *c, ssm2d_error *error)
{
    static const char here = 1;
    transport_request r = {0}; /* so short that it is sent at once */
    return cluster_send(c, &here, sizeof here, 0, TAG_NOTE, &r, error);
}

/* Reads the notes that have come, and marks who sent them. */
static void read_notes(cluster *c)
{
    int from, there = 1;
    while (!c->transport.probe(TAG_NOTE, &from, &there) && there) {
        char byte;
        transport_request r = {0};
        if (c->transport.receive(&byte, sizeof byte, from, TAG_NOTE, &r)) return;
        while (r.active && !c->transport.test(&r)) {
        }
        c->noted[from] = 1;
    }
}

static int blame(cluster *c)
{
    if (c->rank) return 0;
    read_notes(c);
    for (int i = 1; i < c->size; i++)
        if (!c->noted[i]) return i;
    return c->size - 1;
}

/* Sends a note, as often as it is time; the first process forgets those of the first half of its
 * waiting, which may be of an earlier one. */
static ssm2d_status keep_notes(cluster *c, cluster_wait *w, double waited, ssm2d_error *error)
{
    enum { NOTES = 8 };
    const int due = (int)(waited / c->timeout * NOTES);
    if (due <= w->notes) return SSM2D_OK;
    w->notes = due;
    if (c->rank) return note(c, error);
    if (due > NOTES / 2) return SSM2D_OK;
    read_notes(c);
    memset(c->noted, 0, (size_t)c->size * sizeof *c->noted);
    return SSM2D_OK;
}

ssm2d_status cluster_wait_more(cluster *c, cluster_wait *w, ssm2d_error *error)
{
    if (w->rounds++ < SPINS) return SSM2D_OK;
    if (w->rounds < YIELDS)
        sched_yield(); /* on a busy machine this alone may take long */
    else
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    const double now = clock_seconds();
    if (w->began < 0) w->began = w->looked = now;
    if (now - w->looked < look_every || !c->peers) return SSM2D_OK;
    w->looked = now;
    const int ended = find_ended(c);
    int from, told = 0;
    if (ended >= 0) /* what it may have said last is still on its way */
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (!c->transport.probe(TAG_LOST, &from, &told) && told) {
        c->is_lost = 1;
        c->speaks = 0;
        return fail(error, SSM2D_ERROR_SYSTEM, "rank %d has given up", from);
    }
    if (ended >= 0) return lose(c, ended, "has ended unexpectedly", error);
    const double waited = now - w->began;
    if (waited <= c->timeout * (c->rank ? 1.25 : 1)) return keep_notes(c, w, waited, error);
    char why[80];
    snprintf(why, sizeof why, "has not answered for %.0f seconds", c->timeout);
    return lose(c, blame(c), why, error);
}
