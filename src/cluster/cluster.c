#include "cluster/cluster.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MESSAGE = 1 << 26 }; /* bytes; larger ones are sent in parts */
enum { LINE = sizeof(((ssm2d_error *)0)->line) };

/* ---- joining --------------------------------------------------------------------------------- */

static double timeout_wanted(void)
{
    enum { USUAL = 600 };
    const char *text = getenv("SSM2D_MPI_TIMEOUT");
    char *end;
    const double seconds = text && *text ? strtod(text, &end) : USUAL;
    return seconds >= 1 && seconds <= 1e6 && (!text || !*text || !*end) ? seconds : -1;
}

/* A single process has no partners, so no other function of the transport is called. */
static void leave_alone(void) {}

static transport transport_alone(void)
{
    return (transport){
        .name = "one process", .size = 1, .on_node = 1, .sharing = 1, .leave = leave_alone};
}

cluster cluster_alone(void)
{
    return (cluster){.transport = transport_alone(), .size = 1, .speaks = 1};
}

ssm2d_status cluster_join(cluster *c, board_ticket *ticket, ssm2d_error *error)
{
    char why[LINE];
    *c = cluster_alone();
    c->launcher = launcher_find(getenv);
    c->timeout = timeout_wanted();
    const launcher *l = &c->launcher;
    if (!l->name || l->size == 1) return SSM2D_OK;
    c->rank = l->rank;
    c->speaks = l->rank == 0;
    if (c->timeout < 0)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "SSM2D_MPI_TIMEOUT=%.32s: use seconds, 1 to 1000000",
                    getenv("SSM2D_MPI_TIMEOUT"));
    if (ticket) {
        c->ticket = ticket;
        c->place = &ticket->place;
        ticket->place.process = (long)getpid();
        ticket->timeout = c->timeout;
        ticket->starting = 1;
    }
    cluster_enter(c, -1); /* MPI waits for all to start it */
    const int bad = transport_load(l->is_mpich, &c->transport, why, sizeof why);
    cluster_exit(c);
    if (ticket) ticket->starting = 0;
    if (bad)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "started by %s in %d processes: %s", l->name,
                    l->size, why);
    c->rank = c->transport.rank;
    c->size = c->transport.size;
    if (!l->size || l->size == c->size) {
        c->speaks = c->rank == 0;
        return SSM2D_OK;
    }
    fail(error, SSM2D_ERROR_UNSUPPORTED,
         "%s started %d processes, but %s sees %d: use the launcher of that MPI (with Slurm, srun "
         "--mpi=pmix), or name the module for yours in SSM2D_MPI",
         l->name, l->size, c->transport.name, c->size);
    c->transport.leave();
    c->transport = transport_alone();
    c->size = 1;
    return SSM2D_ERROR_UNSUPPORTED;
}

void cluster_leave(cluster *c)
{
    if (c->context) {
        mem_free(c->context, c->peers);
        mem_free(c->context, c->scratch);
        c->context = NULL;
    }
    cluster_enter(c, -1); /* MPI waits for all to end it */
    if (!c->is_lost) c->transport.leave();
    cluster_exit(c);
    c->transport = transport_alone();
}

atomic_int *cluster_abort_flag(cluster *c) { return c->board ? &c->board->abort_flag : NULL; }

int cluster_threads(const cluster *c, int processors)
{
    return max_int(processors / max_int(c->transport.sharing, 1), 1);
}

/* ---- messages -------------------------------------------------------------------------------- */

ssm2d_status cluster_failed(cluster *c, int bad, ssm2d_error *error)
{
    if (!bad) return SSM2D_OK;
    c->is_lost = 1;
    return fail(error, SSM2D_ERROR_SYSTEM,
                "rank %d (%s): %s reports error %d: another process has ended, or the network "
                "failed",
                c->rank, c->peers ? c->peers[c->rank].host : "?", c->transport.name, bad);
}

ssm2d_status cluster_send(cluster *c, const void *data, size_t bytes, int to, int tag,
                          transport_request *r, ssm2d_error *error)
{
    c->bytes += (double)bytes;
    r->peer = to;
    cluster_enter(c, to);
    const int bad = c->transport.send(data, bytes, to, tag, r);
    cluster_exit(c);
    return cluster_failed(c, bad, error);
}

ssm2d_status cluster_receive(cluster *c, void *data, size_t bytes, int from, int tag,
                             transport_request *r, ssm2d_error *error)
{
    r->peer = from;
    cluster_enter(c, from);
    const int bad = c->transport.receive(data, bytes, from, tag, r);
    cluster_exit(c);
    return cluster_failed(c, bad, error);
}

ssm2d_status cluster_test(cluster *c, transport_request *r, ssm2d_error *error)
{
    if (!r->active) return SSM2D_OK;
    cluster_enter(c, r->peer);
    const int bad = c->transport.test(r);
    cluster_exit(c);
    return cluster_failed(c, bad, error);
}

ssm2d_status cluster_wait_all(cluster *c, transport_request *r, int count, ssm2d_error *error)
{
    cluster_wait wait = cluster_wait_begin(c, count ? r[0].peer : -1);
    ssm2d_status status = SSM2D_OK;
    for (int active = 1; active && !status;) {
        const transport_request *first = NULL;
        for (int i = 0; i < count && !status; i++) {
            status = cluster_test(c, &r[i], error);
            if (r[i].active && !first) first = &r[i];
        }
        active = first != NULL;
        if (active && !status) status = cluster_wait_more(c, &wait, first->peer, error);
    }
    cluster_exit(c);
    return status;
}

/* ---- collective operations ------------------------------------------------------------------- */

/* Bruck's algorithm: after round k each rank has the blocks of 2^k ranks from its own on, and
 * receives as many more in the next; the number of rounds is log2 of the size, rounded up. */
ssm2d_status cluster_gather(cluster *c, const void *own, size_t bytes, void *all,
                            ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    if (c->size == 1) {
        memcpy(all, own, bytes);
        return SSM2D_OK;
    }
    memcpy(c->scratch, own, bytes);
    for (int have = 1; have < c->size && !status; have *= 2) {
        const size_t blocks = (size_t)min_int(have, c->size - have);
        transport_request r[2] = {0};
        status = cluster_receive(c, c->scratch + (size_t)have * bytes, blocks * bytes,
                                 (c->rank + have) % c->size, TAG_GATHER, &r[0], error);
        if (!status)
            status = cluster_send(c, c->scratch, blocks * bytes,
                                  (c->rank - have + c->size) % c->size, TAG_GATHER, &r[1], error);
        if (!status) status = cluster_wait_all(c, r, 2, error);
    }
    for (int i = 0; i < c->size && !status; i++)
        memcpy((char *)all + (size_t)((c->rank + i) % c->size) * bytes,
               c->scratch + (size_t)i * bytes, bytes);
    return status;
}

/* A binomial tree: a rank receives from the rank without its lowest bit. */
static ssm2d_status broadcast_part(cluster *c, void *data, size_t bytes, ssm2d_error *error)
{
    transport_request r[sizeof(int) * CHAR_BIT + 1] = {0};
    int step = 1, sent = 0;
    ssm2d_status status = SSM2D_OK;
    while (step < c->size && !(c->rank & step)) step *= 2;
    if (c->rank) {
        status = cluster_receive(c, data, bytes, c->rank - step, TAG_BROADCAST, &r[0], error);
        if (!status) status = cluster_wait_all(c, r, 1, error);
    }
    for (step /= 2; step && !status; step /= 2)
        if (c->rank + step < c->size)
            status = cluster_send(c, data, bytes, c->rank + step, TAG_BROADCAST, &r[sent++], error);
    return status ? status : cluster_wait_all(c, r, sent, error);
}

ssm2d_status cluster_broadcast(cluster *c, void *data, size_t bytes, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (size_t at = 0; c->size > 1 && at < bytes && !status; at += MAX_MESSAGE)
        status = broadcast_part(c, (char *)data + at, min_size(bytes - at, MAX_MESSAGE), error);
    return status;
}

static ssm2d_status sum_part(cluster *c, double *values, double *scratch, size_t count,
                             ssm2d_error *error)
{
    const size_t bytes = count * sizeof *values;
    ssm2d_status status = SSM2D_OK;
    for (int step = 1; step < c->size && !status; step *= 2) {
        transport_request r = {0};
        if (c->rank & step) {
            status = cluster_send(c, values, bytes, c->rank - step, TAG_SUM, &r, error);
            if (!status) status = cluster_wait_all(c, &r, 1, error);
            break;
        }
        if (c->rank + step >= c->size) continue;
        status = cluster_receive(c, scratch, bytes, c->rank + step, TAG_SUM, &r, error);
        if (!status) status = cluster_wait_all(c, &r, 1, error);
        for (size_t i = 0; i < count && !status; i++) values[i] += scratch[i];
    }
    return status ? status : broadcast_part(c, values, bytes, error);
}

ssm2d_status cluster_sum(cluster *c, double *values, double *scratch, size_t count,
                         ssm2d_error *error)
{
    enum { PART = MAX_MESSAGE / sizeof(double) };
    ssm2d_status status = SSM2D_OK;
    for (size_t at = 0; c->size > 1 && at < count && !status; at += PART)
        status = sum_part(c, values + at, scratch, min_size(count - at, PART), error);
    return status;
}

/* ---- agreeing -------------------------------------------------------------------------------- */

typedef struct report {
    int status;
    char line[LINE];
} report;

_Static_assert(sizeof(report) <= CLUSTER_GATHER, "a report does not fit the scratch of gather");

ssm2d_status cluster_agree(cluster *c, ssm2d_status status, ssm2d_error *error)
{
    report r = {.status = status};
    if (c->size == 1 || c->is_lost) return status;
    if (status && error) memcpy(r.line, error->line, sizeof r.line);
    /* a sum tells whether any rank failed; only then do they exchange who */
    double failures = status != SSM2D_OK, scratch;
    const ssm2d_status lost = cluster_sum(c, &failures, &scratch, 1, error);
    if (lost) return lost;
    if (!(failures > 0)) return SSM2D_OK;
    report *all = mem_alloc(c->context, (size_t)c->size * sizeof *all);
    if (!all) /* the others get no message, and end when this process does */
        return fail_memory(error, "reporting a failure");
    ssm2d_status result = cluster_gather(c, &r, sizeof r, all, error);
    int first = 0;
    while (!result && first < c->size - 1 && !all[first].status) first++;
    c->agreed = !result;
    if (!result)
        result = fail(error, (ssm2d_status)all[first].status, "rank %d (%s): %s", first,
                      c->peers ? c->peers[first].host : "?", all[first].line);
    mem_free(c->context, all);
    return result;
}

ssm2d_status cluster_same(cluster *c, const char *what, const void *bytes, size_t size,
                          ssm2d_error *error)
{
    uint64_t own = HASH_START;
    hash_add(&own, bytes, size);
    uint64_t first = own;
    ssm2d_status status = cluster_broadcast(c, &first, sizeof first, error);
    if (status) return status;
    if (own != first)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s differ from those of rank 0", what);
    return cluster_agree(c, status, error);
}
