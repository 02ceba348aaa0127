/* waiting - a process that waits for others sleeps, shows on the board that it waits, and checks
 * whether another process of its machine has ended. That process's keeper reports it; the keeper of
 * the waiting process decides when it has waited too long (watchdog.h). */
#include "cluster/cluster.h"
#include "cluster/watchdog.h"
#include "core/clock.h"
#include "core/status.h"

#include <sched.h>
#include <time.h>

/* Rounds that only test, because most answers arrive within microseconds, and rounds that yield the
 * processor; after them the process sleeps between tests. */
enum { SPINS = 200, YIELDS = 4000 };
static const double look_every = 0.01; /* seconds */

void cluster_enter(cluster *c, int partner)
{
    if (!c->depth++ && c->place) place_enter(c->place, partner);
}

void cluster_exit(cluster *c)
{
    if (!--c->depth && c->place) place_leave(c->place);
}

cluster_wait cluster_wait_begin(cluster *c, int partner)
{
    cluster_enter(c, partner);
    return (cluster_wait){.looked = -1, .partner = partner};
}

/* The first process of this machine that has ended, or -1. */
static int find_ended(const cluster *c)
{
    const cluster_peer *own = &c->peers[c->rank];
    for (int i = 0; i < c->size; i++)
        if (i != c->rank && c->peers[i].process && c->peers[i].machine == own->machine
            && process_state_of(c->peers[i].process) == PROCESS_ENDED)
            return i;
    return -1;
}

ssm2d_status cluster_wait_more(cluster *c, cluster_wait *w, int partner, ssm2d_error *error)
{
    if (partner != w->partner) { /* something has arrived, and it waits for another rank now */
        w->partner = partner;
        if (c->place) {
            place_leave(c->place);
            place_enter(c->place, partner);
        }
    }
    if (w->rounds++ < SPINS) return SSM2D_OK;
    if (w->rounds < YIELDS)
        sched_yield(); /* may take long on a busy machine */
    else
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    const double now = clock_seconds();
    if (w->looked < 0) w->looked = now;
    if (now - w->looked < look_every || !c->peers) return SSM2D_OK;
    w->looked = now;
    const int ended = find_ended(c);
    if (ended < 0) return SSM2D_OK;
    c->is_lost = 1;
    return fail(error, SSM2D_ERROR_SYSTEM,
                "rank %d (%s, process %ld) has ended unexpectedly: the job ends", ended,
                c->peers[ended].host, c->peers[ended].process);
}
