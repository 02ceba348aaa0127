/* starting_ranks - finds the rank of a job that keeps MPI from starting, on this machine.
 *
 * MPI waits for all processes before they can communicate, so this reads the process table: the
 * processes of the job have their rank in the environment and descend from the launcher, and those
 * that have started ssm2d have a keeper. */
#ifndef SSM2D_TOOLS_STARTING_RANKS_H
#define SSM2D_TOOLS_STARTING_RANKS_H

#include "cluster/launcher.h"

#include <stddef.h>

typedef enum start_fault {
    START_UNKNOWN, /* all ranks are on this machine and wait */
    START_OTHER,   /* a rank is another program, or has not started its keeper yet */
    START_STOPPED, /* a rank is stopped */
    START_ABSENT,  /* a rank has no process here: it has ended, or is on another machine */
} start_fault;

typedef struct starting_ranks {
    int first; /* the lowest rank on this machine that has a keeper; -1: none */
    start_fault fault;
    int rank; /* the faulty rank; -1: none */
    long process;
    char name[32]; /* of the program, for START_OTHER */
} starting_ranks;

/* Called by a keeper. */
starting_ranks starting_ranks_look(const launcher *l);
/* "rank 1 (host, process 123, sleep) has not started MPI for 10 seconds: ..". */
void starting_ranks_describe(const starting_ranks *r, const launcher *l, double seconds, char *line,
                             size_t size);

#endif
