/* board - shared memory in which the processes of one machine show which of them wait, and for
 * whom. It does not use MPI, so that it can be read when a call of MPI does not return, and by
 * another process: the keeper, which decides when its process has waited too long (watchdog.h).
 *
 * The first process of a machine creates the board; the others find it through /proc. Until then,
 * and if that fails, a process and its keeper share only a ticket, with one place. */
#ifndef SSM2D_CLUSTER_BOARD_H
#define SSM2D_CLUSTER_BOARD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { BOARD_HOST = 64 };

/* The state of one process. For processes on other machines only the first three members are
 * set. */
typedef struct board_place {
    char host[BOARD_HOST];
    long process;
    int is_here;                 /* on this machine */
    atomic_int partner;          /* rank that it waits for; -1: several */
    atomic_uint_least64_t event; /* counter; odd: it waits, or a call of MPI has not returned */
} board_place;

/* Which process reports the abort of the job: the first one to claim it. */
typedef enum abort_state { ABORT_UNCLAIMED, ABORT_CLAIMED, ABORT_REPORTED } abort_state;

typedef struct board {
    atomic_int abort_flag; /* an abort_state */
    int size;              /* 0: not filled yet */
    board_place places[];
} board;

/* Shared by a process and its keeper; created before the keeper is forked. */
typedef struct board_ticket {
    int rank;
    _Atomic double timeout; /* seconds that a process may wait for another; 0: not known yet */
    atomic_int starting;    /* the process is in MPI_Init, which waits for all others */
    atomic_int leaving;     /* the process ends normally */
    atomic_int owner, fd,
        size; /* the board: a file descriptor of that process; size is 0 until it exists */
    atomic_int abort_flag; /* an abort_state, while there is no board */
    board_place place;
} board_ticket;

/* Returns NULL if the system has no shared memory. Never released. */
board_ticket *board_ticket_create(void);

/* Creates a board; *fd is the descriptor through which others open it. NULL on failure. */
board *board_create(int size, int *fd);
/* Maps the board of another process. NULL: it cannot be opened, or has another size. */
board *board_open(long process, int fd, int size);
void board_close(board *b, int size);

/* Whether the caller reports the abort; it may end the job after abort_reported. */
static inline int abort_claim(atomic_int *flag)
{
    int expected = ABORT_UNCLAIMED;
    return atomic_compare_exchange_strong(flag, &expected, ABORT_CLAIMED);
}

static inline void abort_reported(atomic_int *flag) { atomic_store(flag, ABORT_REPORTED); }

/* Waits until another process has reported. If none does within `seconds`, claims the report and
 * returns 1. */
int abort_wait(atomic_int *flag, double seconds);

/* Marks that the process waits, until place_leave, for partner or (-1) for several. */
static inline void place_enter(board_place *p, int partner)
{
    atomic_store_explicit(&p->partner, partner, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->event, 1, memory_order_release);
}

static inline void place_leave(board_place *p)
{
    atomic_fetch_add_explicit(&p->event, 1, memory_order_release);
}

#endif
