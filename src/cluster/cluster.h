/* cluster - the processes that work together, of which this is one: their ranks, collective
 * operations, and the guarantee that no rank waits forever.
 *
 * All processes call every function below cluster_join in the same order. A process that has failed
 * still takes part, and reports it in the next cluster_agree: then all of them return the same
 * error, which names the process, and none hangs.
 *
 * A process that waits watches the others: when a process on the same machine has ended, functions
 * return SSM2D_ERROR_SYSTEM with `is_lost` set, and the caller can only exit. A process that does
 * not answer, or has not started MPI, for `timeout` seconds (SSM2D_MPI_TIMEOUT in the environment,
 * else 600) is detected by the keeper of the process that waits, a separate process that ends it,
 * because MPI may never return. */
#ifndef SSM2D_CLUSTER_CLUSTER_H
#define SSM2D_CLUSTER_CLUSTER_H

#include "cluster/board.h"
#include "cluster/launcher.h"
#include "cluster/transport.h"
#include "ssm2d.h"

enum { CLUSTER_WORDS = 3072 };
enum { CLUSTER_GATHER = 4096 }; /* largest number of bytes per process in cluster_gather */

/* The identity of a process. */
typedef struct cluster_peer {
    char host[BOARD_HOST];
    uint64_t machine; /* equal where process ids have the same meaning */
    long process;
    int board; /* descriptor of its board, or -1 */
} cluster_peer;

typedef struct cluster {
    transport transport;
    launcher launcher;
    int rank, size;
    double timeout;
    int is_lost;  /* a process has ended, or MPI has failed */
    int agreed;   /* all return the same error */
    int speaks;   /* this process reports an error that all return */
    double bytes; /* sent by this process so far */
    const ssm2d_context *context;
    cluster_peer *peers;  /* [size] */
    char *scratch;        /* of gather */
    board_ticket *ticket; /* shared with the keeper; NULL: there is none */
    board *board;         /* of this machine; NULL: not possible, or not needed */
    board_place *place;   /* where this process shows that it waits, or NULL */
    int depth;            /* of cluster_enter */
} cluster;

/* A single process, even if a launcher has started several. */
cluster cluster_alone(void);
/* Finds out which other processes were started, and starts MPI if there are several. Without a
 * launcher, or with a single process, nothing is loaded. No other function may be called after a
 * failure. ticket: shared with the keeper of this process, or NULL. */
ssm2d_status cluster_join(cluster *c, board_ticket *ticket, ssm2d_error *error);
/* Exchanges the identities of the processes. All must have the same version, instruction set and
 * `words` (the command line). status, error: an earlier failure of this process. */
ssm2d_status cluster_meet(cluster *c, const ssm2d_context *context, const char *words,
                          ssm2d_status status, ssm2d_error *error);
/* Releases memory, and leaves MPI unless a process is lost. */
void cluster_leave(cluster *c);
/* The flag that decides which process reports the abort, shared by the processes of a machine.
 * NULL: there is no board. */
atomic_int *cluster_abort_flag(cluster *c);

/* The number of threads for a process: its processors divided by the processes that share them. */
int cluster_threads(const cluster *c, int processors);

/* Succeeds if all processes have succeeded; otherwise all fail with the status and the line of the
 * first rank that failed, which is named. */
ssm2d_status cluster_agree(cluster *c, ssm2d_status status, ssm2d_error *error);
/* Fails unless all processes pass the same text; `what` names it in the message. */
ssm2d_status cluster_same(cluster *c, const char *what, const void *bytes, size_t size,
                          ssm2d_error *error);
/* Gathers own[bytes] of each process to all[size][bytes]. */
ssm2d_status cluster_gather(cluster *c, const void *own, size_t bytes, void *all,
                            ssm2d_error *error);
/* Broadcasts the bytes of rank 0. */
ssm2d_status cluster_broadcast(cluster *c, void *data, size_t bytes, ssm2d_error *error);
/* Sums values over all processes, in a fixed order. scratch: [count] */
ssm2d_status cluster_sum(cluster *c, double *values, double *scratch, size_t count,
                         ssm2d_error *error);

/* ---- for reduction.c ------------------------------------------------------------------------- */

/* Tags of messages; those of a reduction begin with TAG_REDUCTION. */
enum { TAG_GATHER, TAG_BROADCAST, TAG_SUM, TAG_REDUCTION = 16 };

ssm2d_status cluster_send(cluster *c, const void *data, size_t bytes, int to, int tag,
                          transport_request *r, ssm2d_error *error);
ssm2d_status cluster_receive(cluster *c, void *data, size_t bytes, int from, int tag,
                             transport_request *r, ssm2d_error *error);
/* Tests a request; r->active is 0 when it is complete. */
ssm2d_status cluster_test(cluster *c, transport_request *r, ssm2d_error *error);
/* Converts `bad`, a result of the transport, to a status. */
ssm2d_status cluster_failed(cluster *c, int bad, ssm2d_error *error);

/* Between these two the process waits for partner (-1: several), or is in a call of MPI, which may
 * not return. They may be nested; the outermost counts. */
void cluster_enter(cluster *c, int partner);
void cluster_exit(cluster *c);

/* cluster_wait_more is called repeatedly while waiting: it sleeps a little, and fails if the wait
 * cannot succeed. partner: the rank that it waits for now. cluster_exit ends the wait. */
typedef struct cluster_wait {
    double looked; /* when it last checked the other processes; -1: not yet */
    long rounds;
    int partner;
} cluster_wait;

cluster_wait cluster_wait_begin(cluster *c, int partner);
ssm2d_status cluster_wait_more(cluster *c, cluster_wait *w, int partner, ssm2d_error *error);
/* Waits until `count` requests are complete. */
ssm2d_status cluster_wait_all(cluster *c, transport_request *r, int count, ssm2d_error *error);

#endif
