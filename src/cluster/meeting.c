/* meeting - the processes exchange their identities: all must have the same version, instruction
 * set and command line; those of one machine share a board. */
#include "cluster/cluster.h"
#include "core/arith.h"
#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first message that processes exchange. It is the same in all versions of ssm2d: never change
 * it. */
typedef struct first_words {
    char version[32], host[64];
} first_words;

_Static_assert(sizeof(first_words) == 96, "other versions could not be told from this one");

typedef struct hello {
    char cpu[16];
    cluster_peer peer;
    char words[CLUSTER_WORDS]; /* shortened when there are more */
    uint64_t hash;             /* of all of them */
} hello;

_Static_assert(sizeof(hello) <= CLUSTER_GATHER, "a hello does not fit the scratch of gather");

/* Process ids have the same meaning where the boot id and the PID namespace are the same. */
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
    snprintf(h.cpu, sizeof h.cpu, "%s", ssm2d_context_cpu(c->context));
    if (gethostname(h.peer.host, sizeof h.peer.host - 1)) strcpy(h.peer.host, "?");
    h.peer.board = -1;
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
    if (strcmp(own->cpu, first->cpu))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "computes with %s, and rank 0 with %s, which would change the results: set "
                    "SSM2D_CPU=baseline or another that all of them have",
                    own->cpu, first->cpu);
    if (own->hash == first->hash) return SSM2D_OK;
    first_difference(&mine, &theirs);
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "was started with other options: \"%.*s\" where rank 0 has \"%.*s\"",
                line_length(mine), mine, line_length(theirs), theirs);
}

/* ---- the board ------------------------------------------------------------------------------- */

static int first_here(const cluster *c)
{
    int i = 0;
    while (c->peers[i].machine != c->peers[c->rank].machine) i++;
    return i;
}

/* The first process of a machine fills in its board before the others read it. */
static void fill_board(const cluster *c, board *b)
{
    for (int i = 0; i < c->size; i++) {
        const cluster_peer *p = &c->peers[i];
        memcpy(b->places[i].host, p->host, sizeof p->host);
        b->places[i].process = p->process;
        b->places[i].is_here = p->machine == c->peers[c->rank].machine;
    }
    b->size = c->size;
}

/* Every process has created a board, because it did not know whether it is the first of its
 * machine; now all switch to the first one's, and tell their keepers. Where the system does not
 * allow that (no /proc, a program with privileges) each keeps its ticket: the job works, but
 * several processes may report the same failure. */
static void share_board(cluster *c, board *own)
{
    const int first = first_here(c), mine = c->peers[c->rank].board;
    if (!c->ticket) return;
    const cluster_peer *p = &c->peers[first];
    c->board = first == c->rank ? own : NULL;
    if (!c->board && p->board >= 0) c->board = board_open(p->process, p->board, c->size);
    if (own && own != c->board) {
        board_close(own, c->size);
        close(mine);
    }
    if (!c->board) return;
    c->place = &c->board->places[c->rank];
    c->ticket->owner = (int)p->process;
    c->ticket->fd = p->board;
    c->ticket->size = c->size;
}

/* ---- meeting --------------------------------------------------------------------------------- */

/* All ranks see the same data, so they get the same result without cluster_agree. */
static ssm2d_status check_versions(cluster *c, ssm2d_error *error)
{
    first_words own = {""}, *all = mem_alloc(c->context, (size_t)c->size * sizeof *all);
    if (!all) return fail_memory(error, "meeting other processes");
    snprintf(own.version, sizeof own.version, "%s", ssm2d_version());
    if (gethostname(own.host, sizeof own.host - 1)) strcpy(own.host, "?");
    ssm2d_status status = cluster_gather(c, &own, sizeof own, all, error);
    for (int i = 1; i < c->size && !status; i++) {
        if (!memcmp(all[i].version, all[0].version, sizeof own.version)) continue;
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "rank %d (%.63s) is ssm2d %.31s, and rank 0 (%.63s) is ssm2d %.31s: install "
                      "one version everywhere",
                      i, all[i].host, all[i].version, all[0].host, all[0].version);
        c->agreed = 1;
    }
    mem_free(c->context, all);
    return status;
}

static ssm2d_status allocate(cluster *c, ssm2d_error *error)
{
    const size_t size = (size_t)c->size;
    c->peers = mem_alloc(c->context, size * sizeof *c->peers);
    c->scratch = mem_alloc(c->context, size * CLUSTER_GATHER);
    if (c->peers && c->scratch) return SSM2D_OK;
    return fail_memory(error, "cluster of %d processes", c->size);
}

ssm2d_status cluster_meet(cluster *c, const ssm2d_context *context, const char *words,
                          ssm2d_status status, ssm2d_error *error)
{
    if (c->size == 1) return status;
    c->context = context;
    ssm2d_error why;
    ssm2d_status bad = allocate(c, &why);
    if (!bad) bad = check_versions(c, &why);
    hello *all = bad ? NULL : mem_alloc(context, (size_t)c->size * sizeof *all);
    if (!bad && !all) bad = fail_memory(&why, "meeting other processes");
    if (bad) /* out of memory: the others learn it when this process ends */
        return fail(error, bad, "%s", why.line);
    hello own = introduce(c, words);
    board *b = c->ticket ? board_create(c->size, &own.peer.board) : NULL;
    c->peers[c->rank] = own.peer;
    bad = cluster_gather(c, &own, sizeof own, all, &why);
    for (int i = 0; i < c->size && !bad; i++) c->peers[i] = all[i].peer;
    if (bad) {
        mem_free(context, all);
        return fail(error, bad, "%s", why.line);
    }
    if (b && first_here(c) == c->rank) fill_board(c, b);
    if (!status) status = compare(&own, &all[0], error);
    mem_free(context, all);
    status = cluster_agree(c, status, error); /* all boards are filled after this */
    share_board(c, b);
    return status;
}
