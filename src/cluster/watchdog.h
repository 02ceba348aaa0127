/* watchdog - decides that a process waits in vain, and which one is to blame.
 *
 * The keeper of a process looks at the board from time to time. Patience is counted while the
 * process waits and runs: a job that is stopped as a whole, and continued after hours, goes on. */
#ifndef SSM2D_CLUSTER_WATCHDOG_H
#define SSM2D_CLUSTER_WATCHDOG_H

#include "cluster/board.h"

#include <stdint.h>

typedef struct watchdog {
    int rank;
    double timeout;
    double looked, waited; /* seconds */
    uint64_t event;
} watchdog;

/* What a process of this machine does, as the system sees it. */
typedef enum process_state { PROCESS_RUNS, PROCESS_STOPPED, PROCESS_ENDED } process_state;
process_state process_state_of(long process);

/* Looks at the process of this rank, which is `own` on the board; b may be NULL, and is then not
 * known. Returns whether it has waited for too long; line (of `size` characters) says then for
 * whom. now: seconds, as clock_seconds() says; state: what a process does, process_state_of but in
 * tests. */
int watchdog_look(watchdog *w, const board *b, const board_place *own, double now,
                  process_state (*state)(long process), char *line, size_t size);

#endif
