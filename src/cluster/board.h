/* board - what the processes of one machine show each other in shared memory: who waits, and for
 * whom. MPI has no part in it, so that it can be read when MPI does not return any more, and by
 * somebody else than the process that wrote it: its keeper, who decides when it has waited in vain
 * (watchdog.h).
 *
 * The first process of a machine makes the board, the others find it through /proc. Until then, and
 * where that fails, a process and its keeper have a ticket of their own, with room for one. */
#ifndef SSM2D_CLUSTER_BOARD_H
#define SSM2D_CLUSTER_BOARD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { BOARD_HOST = 64 };

/* Of one process; of those on other machines only the first three mean something. */
typedef struct board_place {
    char host[BOARD_HOST];
    long process;
    int is_here;                 /* on this machine */
    atomic_int partner;          /* rank that it waits for, -1: nobody in particular */
    atomic_uint_least64_t event; /* counts; odd: it waits, or MPI has not returned yet */
} board_place;

/* Who reports that the job ends, of all that know: the first to claim it. */
typedef enum board_word { WORD_FREE, WORD_CLAIMED, WORD_SAID } board_word;

typedef struct board {
    atomic_int word; /* a board_word */
    int size;        /* 0: not filled yet */
    board_place places[];
} board;

/* Between a process and its keeper, before they are two. */
typedef struct board_ticket {
    int rank;
    _Atomic double timeout;     /* seconds that a process may wait for another; 0: not known yet */
    atomic_int parts;           /* the process ends by itself, in order */
    atomic_int owner, fd, size; /* the board: a file of that process; size is 0 until it is there */
    atomic_int word;            /* as long as there is none */
    board_place place;
} board_ticket;

/* NULL: the system has no memory to share. Never released. */
board_ticket *board_ticket_create(void);

/* Makes a board; *fd is the file by which others find it. NULL: not possible. */
board *board_create(int size, int *fd);
/* Maps the board of another process. NULL: it cannot be found, or is not this size. */
board *board_open(long process, int fd, int size);
void board_close(board *b, int size);

/* Whether the caller is to report, and may end the job once it has called word_said. */
static inline int word_claim(atomic_int *word)
{
    int expected = WORD_FREE;
    return atomic_compare_exchange_strong(word, &expected, WORD_CLAIMED);
}

static inline void word_said(atomic_int *word) { atomic_store(word, WORD_SAID); }

/* Waits until somebody has reported, and claims it after some seconds in which nobody has: returns
 * whether the caller is to report. */
int word_wait(atomic_int *word, double seconds);

/* The process of this place waits from here to place_leave, for partner or (-1) for several. */
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
