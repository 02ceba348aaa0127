/* cluster - the processes that work together, of which this is one: who they are, what all of them
 * have to know, and that none is waited for in vain.
 *
 * Every function below cluster_join is called by all processes in the same order. A process that
 * has failed takes part nevertheless, and says so in the next cluster_agree: then all of them
 * return the same error, which names the process, and none hangs.
 *
 * Whoever waits looks after the others: when a process on the same machine has ended, functions
 * return SSM2D_ERROR_SYSTEM with `is_lost` set, and the only thing left to do is to end. One that
 * does not answer for `timeout` seconds (the environment's SSM2D_MPI_TIMEOUT, else 600) is noticed
 * by the keeper of whoever waits, a process of its own that ends it, as MPI may never return. */
#ifndef SSM2D_CLUSTER_CLUSTER_H
#define SSM2D_CLUSTER_CLUSTER_H

#include "cluster/board.h"
#include "cluster/launcher.h"
#include "cluster/transport.h"
#include "ssm2d.h"

enum { CLUSTER_WORDS = 3072 };
enum { CLUSTER_GATHER = 4096 }; /* bytes of each process that cluster_gather takes at most */

/* What each process knows of the others. */
typedef struct cluster_peer {
    char host[BOARD_HOST];
    uint64_t machine; /* equal where process numbers have one meaning */
    long process;
    int board; /* its file, if it has made one; -1 */
} cluster_peer;

typedef struct cluster {
    transport transport;
    launcher launcher;
    int rank, size;
    double timeout;
    int is_lost;  /* a process has ended, or MPI does not work any more */
    int agreed;   /* all return the same error */
    int speaks;   /* this one is to report an error that it returns */
    double bytes; /* sent by this process so far */
    const ssm2d_context *context;
    cluster_peer *peers;  /* [size] */
    char *scratch;        /* of gather */
    board_ticket *ticket; /* between this process and its keeper; NULL: it has none */
    board *board;         /* of this machine; NULL: none could be made, or had to be */
    board_place *place;   /* where this process shows that it waits; NULL: nowhere */
    int depth;            /* of cluster_enter */
} cluster;

/* A process by itself, whatever a launcher says. */
cluster cluster_alone(void);
/* Finds out who else was started, and with more than one process starts MPI. Without a launcher, or
 * with a single process, nothing is loaded. No other function is called after a failure.
 * ticket: shared with the keeper of this process, or NULL. */
ssm2d_status cluster_join(cluster *c, board_ticket *ticket, ssm2d_error *error);
/* Introduces the processes to each other. They must be of one version and have one instruction set;
 * `words`, what they were told to do, must be the same. status, error: what went wrong before, in
 * this process. */
ssm2d_status cluster_meet(cluster *c, const ssm2d_context *context, const char *words,
                          ssm2d_status status, ssm2d_error *error);
/* Releases memory, and leaves MPI when all do so in order. */
void cluster_leave(cluster *c);
/* Whose word it is that the job ends: shared by the processes of a machine that have met. NULL:
 * there is nobody to share it with. */
atomic_int *cluster_word(cluster *c);

/* The threads for a process: its processors, divided among those that share them. */
int cluster_threads(const cluster *c, int processors);

/* Succeeds when all have; otherwise all fail with the status and the line of the first that has
 * not, which names it. */
ssm2d_status cluster_agree(cluster *c, ssm2d_status status, ssm2d_error *error);
/* Refuses texts that are not the first process's; `what` they are, for the message. */
ssm2d_status cluster_same(cluster *c, const char *what, const void *bytes, size_t size,
                          ssm2d_error *error);
/* all[size][bytes] <- own[bytes] of each. */
ssm2d_status cluster_gather(cluster *c, const void *own, size_t bytes, void *all,
                            ssm2d_error *error);
/* Sends the first process's bytes to all. */
ssm2d_status cluster_broadcast(cluster *c, void *data, size_t bytes, ssm2d_error *error);
/* Sums values over all processes, in a fixed order. scratch: as many numbers. */
ssm2d_status cluster_sum(cluster *c, double *values, double *scratch, size_t count,
                         ssm2d_error *error);

/* ---- for reduction.c ------------------------------------------------------------------------- */

/* Tags of messages; those of a reduction begin with TAG_REDUCTION. */
enum { TAG_GATHER, TAG_BROADCAST, TAG_SUM, TAG_REDUCTION = 16 };

ssm2d_status cluster_send(cluster *c, const void *data, size_t bytes, int to, int tag,
                          transport_request *r, ssm2d_error *error);
ssm2d_status cluster_receive(cluster *c, void *data, size_t bytes, int from, int tag,
                             transport_request *r, ssm2d_error *error);
/* Whether a request is complete: r->active says so. */
ssm2d_status cluster_test(cluster *c, transport_request *r, ssm2d_error *error);
/* What `bad`, a result of the transport, means. */
ssm2d_status cluster_failed(cluster *c, int bad, ssm2d_error *error);

/* Between these the process waits for partner (-1: nobody in particular), or is in MPI, which may
 * not return. They may be nested; the outermost counts. */
void cluster_enter(cluster *c, int partner);
void cluster_exit(cluster *c);

/* Called again and again by whoever waits: rests a little, and fails when it is in vain. partner:
 * the rank that it waits for now. */
typedef struct cluster_wait {
    double began, looked;
    long rounds;
    int partner;
} cluster_wait;

cluster_wait cluster_wait_begin(cluster *c, int partner);
ssm2d_status cluster_wait_more(cluster *c, cluster_wait *w, int partner, ssm2d_error *error);
void cluster_wait_end(cluster *c);
/* Waits for the end of `count` requests. */
ssm2d_status cluster_wait_all(cluster *c, transport_request *r, int count, ssm2d_error *error);

#endif
