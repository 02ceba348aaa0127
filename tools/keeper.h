/* keeper - a process that supervises another, and reports its end.
 *
 * Launchers kill all processes of a job as soon as one of them has been killed, some of them at
 * once: the others have no time to report which one it was. A process may also wait forever in MPI
 * for one that is stopped. So each process that a launcher has started becomes two before MPI
 * starts: the child does the work; the parent, its keeper, which does not use MPI,
 *
 * - forwards signals to the child, and exits with the child's exit code;
 * - reports which rank was killed, by which signal, before the launcher notices;
 * - reports which rank does not answer when the child has waited too long (watchdog.h), or has not
 *   started MPI (starting_ranks.h), and ends the child.
 *
 * The child is killed with its keeper, and so by any launcher. */
#ifndef SSM2D_TOOLS_KEEPER_H
#define SSM2D_TOOLS_KEEPER_H

#include "cluster/board.h"
#include "cluster/launcher.h"
#include "ssm2d.h"

/* The keeper's name in the process table, with its rank. */
#define KEEPER_NAME "keeper %d"

/* Returns in the child, with the ticket that it shares with its keeper. Call it while the process
 * has one thread. name: of the command, for the keeper's messages. */
ssm2d_status keeper_start(const char *name, const launcher *l, board_ticket **ticket,
                          ssm2d_error *error);

#endif
