/* watchdog - decides that a process has waited too long, and which process blocks it.
 *
 * The keeper of a process reads the board from time to time. Time counts only while the process
 * waits and is not stopped: a job that is stopped as a whole, and continued after hours, goes
 * on. */
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

/* The state of a process of this machine, from the system. */
typedef enum process_state { PROCESS_RUNS, PROCESS_STOPPED, PROCESS_ENDED } process_state;
process_state process_state_of(long process);

/* Returns the seconds that the process of `own` has waited without interruption and was not
 * stopped. Called repeatedly. */
double watchdog_waited(watchdog *w, const board_place *own, double now,
                       process_state (*state)(long process));
/* Checks the process of this rank, which is `own` on the board b, or without a board if b is NULL.
 * Returns whether it has waited too long; line (of `size` characters) then names the rank.
 * now: clock_seconds(); state: process_state_of, or a test's replacement. */
int watchdog_look(watchdog *w, const board *b, const board_place *own, double now,
                  process_state (*state)(long process), char *line, size_t size);

#endif
