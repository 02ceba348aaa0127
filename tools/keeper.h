/* keeper - a process that looks after another, and reports its end.
 *
 * Launchers kill all processes of a job as soon as one of them has been killed, some of them at
 * once: those that are left have no moment to say which one it was. And a process may wait in MPI
 * for one that is stopped, and never return. So each process that a launcher has started becomes
 * two before MPI starts: the child does the work; the parent, its keeper, which has no MPI,
 *
 * - passes on the signals that it gets, and ends with the child's exit code;
 * - says which rank was killed, by which signal, before the launcher can know;
 * - says who does not answer when the child has waited for too long (watchdog.h), and ends it.
 *
 * The child is killed with its keeper, and so by any launcher. */
#ifndef SSM2D_TOOLS_KEEPER_H
#define SSM2D_TOOLS_KEEPER_H

#include "cluster/board.h"
#include "ssm2d.h"

/* Returns in the child; the caller goes on in it, with the ticket that it shares with its keeper.
 * Called while the process has one thread. name: of the
 * command, for the keeper's messages. */
ssm2d_status keeper_start(const char *name, int rank, board_ticket **ticket, ssm2d_error *error);

#endif
