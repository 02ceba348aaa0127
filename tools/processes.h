/* processes - the tool as one of several processes started by mpirun, srun or similar. */
#ifndef SSM2D_TOOLS_PROCESSES_H
#define SSM2D_TOOLS_PROCESSES_H

#include "cluster/cluster.h"
#include "command.h"

/* The processes of this command: one, unless a launcher started several. */
cluster *processes(void);
/* Whether this process prints; of several processes only the first does. */
int processes_speak(void);

/* Called before the command line is parsed: joins the other processes, or refuses a command that
 * works only in one process. */
ssm2d_status processes_join(const command *c, ssm2d_error *error);
/* The words of the command line, in static memory, without the number of threads, which may differ
 * between processes. Called before parsing, which reorders the words. */
const char *processes_words(int argc, char **argv);
/* The number of threads of this process; given: that of --threads, 0 if there is none. */
int processes_threads(long given);
/* Called after a failure, before it is reported. Decides which process reports a failure that only
 * this process knows; the others see this process end. */
void processes_failed(ssm2d_error *error);
/* Called at the end. Does not return if another process is lost, because MPI would wait for it. */
void processes_leave(int code);

#endif
