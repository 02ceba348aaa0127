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

cluster cluster_alone(void)
{
    return (cluster){.transport = transport_alone(), .size = 1, .speaks = 1};
}

ssm2d_status cluster_join(cluster *c, ssm2d_error *error)
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
    if (transport_load(l->is_mpich, &c->transport, why, sizeof why))
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
        mem_free(c->context, c->noted);
        c->context = NULL;
    }
    if (!c->is_lost) c->transport.leave();
    c->transport = transport_alone();
}

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
    return cluster_failed(c, c->transport.send(data, bytes, to, tag, r), error);
}

ssm2d_status cluster_receive(cluster *c, void *data, size_t bytes, int from, int tag,
                             transport_request *r, ssm2d_error *error)
{
    return cluster_failed(c, c->transport.receive(data, bytes, from, tag, r), error);
}

ssm2d_status cluster_wait_all(cluster *c, transport_request *r, int count, ssm2d_error *error)
{
    cluster_wait wait = cluster_wait_begin();
    for (;;) {
        int active = 0, bad = 0;
        for (int i = 0; i < count && !bad; i++) {
            bad = c->transport.test(&r[i]);
            active |= r[i].active;
        }
        ssm2d_status status = cluster_failed(c, bad, error);
        if (!status && active) status = cluster_wait_more(c, &wait, error);
        if (status || !active) return status;
    }
}

/* ---- what all know --------------------------------------------------------------------------- */

/* Bruck's algorithm: in round k everybody has the blocks of the 2^k ranks from its own on, and gets
 * as many more; any number of processes takes the rounds of the next power of two. */
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

/* The binomial tree: a rank without its lowest bit is the one that it receives from. */
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

ssm2d_status cluster_agree(cluster *c, ssm2d_status status, ssm2d_error *error)
{
    report r = {.status = status};
    if (c->size == 1 || c->is_lost) return status;
    if (status && error) memcpy(r.line, error->line, sizeof r.line);
    /* a sum says whether anybody failed; only then is it asked who */
    double failures = status != SSM2D_OK, scratch;
    const ssm2d_status lost = cluster_sum(c, &failures, &scratch, 1, error);
    if (lost) return lost;
    if (!(failures > 0)) return SSM2D_OK;
    report *all = mem_alloc(c->context, (size_t)c->size * sizeof *all);
    if (!all) { /* the others are told nothing else, and end as well when this process does */
        c->is_lost = 1;
        return fail(error, SSM2D_ERROR_MEMORY, "rank %d: no memory to report a failure", c->rank);
    }
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

/* ---- meeting --------------------------------------------------------------------------------- */

typedef struct hello {
    char version[32], cpu[16];
    cluster_peer peer;
    char words[CLUSTER_WORDS]; /* shortened when there are more */
    uint64_t hash;             /* of all of them */
} hello;

_Static_assert(sizeof(hello) <= CLUSTER_GATHER, "a hello does not fit the scratch of gather");
_Static_assert(sizeof(report) <= CLUSTER_GATHER, "a report does not fit the scratch of gather");

/* Processes can be looked after by number where the machine, its start and the table of processes
 * are the same: the first two are in the boot's identity, the third is a name space. */
static uint64_t machine_identity(const char *host)
{
    uint64_t hash = HASH_START;
    char text[128];
    hash_add(&hash, host, strlen(host));
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) hash_add(&hash, text, fread(text, 1, sizeof text, f));
    if (f) fclose(f);
    const ssize_t length = readlink("/proc/self/ns/pid", text, sizeof text);
    if (length > 0) hash_add(&hash, text, (size_t)length);
    return hash;
}

static hello introduce(const cluster *c, const char *words)
{
    hello h = {.hash = HASH_START};
    snprintf(h.version, sizeof h.version, "%s", ssm2d_version());
    snprintf(h.cpu, sizeof h.cpu, "%s", ssm2d_context_cpu(c->context));
    if (gethostname(h.peer.host, sizeof h.peer.host - 1)) strcpy(h.peer.host, "?");
    h.peer.machine = machine_identity(h.peer.host);
    h.peer.process = (long)getpid();
    snprintf(h.words, sizeof h.words, "%s", words);
    hash_add(&h.hash, words, strlen(words));
    return h;
}

/* The first line in which two texts differ, of each. */
static void first_difference(const char **a, const char **b)
{
    const char *start_a = *a, *start_b = *b;
    for (const char *x = *a, *y = *b; *x && *x == *y; x++, y++)
        if (*x == '\n') {
            start_a = x + 1;
            start_b = y + 1;
        }
    *a = start_a;
    *b = start_b;
}

static int line_length(const char *text) { return min_int((int)strcspn(text, "\n"), 60); }

static ssm2d_status compare(const hello *own, const hello *first, ssm2d_error *error)
{
    const char *mine = own->words, *theirs = first->words;
    if (strcmp(own->version, first->version))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "is ssm2d %s, and rank 0 is ssm2d %s: install one version everywhere",
                    own->version, first->version);
    if (strcmp(own->cpu, first->cpu))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "computes with %s, and rank 0 with %s, which gives other bits: set "
                    "SSM2D_CPU=baseline or another that all of them have",
                    own->cpu, first->cpu);
    if (own->hash == first->hash) return SSM2D_OK;
    first_difference(&mine, &theirs);
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "was started with other options: \"%.*s\" where rank 0 has \"%.*s\"",
                line_length(mine), mine, line_length(theirs), theirs);
}

static ssm2d_status take_memory(cluster *c, ssm2d_error *error)
{
    const size_t size = (size_t)c->size;
    c->peers = mem_alloc(c->context, size * sizeof *c->peers);
    c->noted = mem_alloc(c->context, size * sizeof *c->noted);
    c->scratch = mem_alloc(c->context, size * CLUSTER_GATHER);
    if (c->peers && c->scratch && c->noted) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_MEMORY, "no memory for a cluster of %d processes", c->size);
}

ssm2d_status cluster_meet(cluster *c, const ssm2d_context *context, const char *words,
                          ssm2d_status status, ssm2d_error *error)
{
    if (c->size == 1) return status;
    c->context = context;
    ssm2d_error why;
    hello *all = mem_alloc(context, (size_t)c->size * sizeof *all);
    ssm2d_status bad = take_memory(c, &why);
    if (!bad && !all) bad = fail(&why, SSM2D_ERROR_MEMORY, "no memory to meet other processes");
    if (bad) { /* there is no way to tell the others but to end */
        c->is_lost = c->speaks = 1;
        mem_free(context, all);
        return fail(error, bad, "rank %d: %s", c->rank, why.line);
    }
    const hello own = introduce(c, words);
    c->peers[c->rank] = own.peer;
    bad = cluster_gather(c, &own, sizeof own, all, &why);
    for (int i = 0; i < c->size && !bad; i++) c->peers[i] = all[i].peer;
    if (bad) {
        mem_free(context, all);
        return fail(error, bad, "%s", why.line);
    }
    if (!status) status = compare(&own, &all[0], error);
    mem_free(context, all);
    return cluster_agree(c, status, error);
}
