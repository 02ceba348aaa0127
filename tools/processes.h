/* processes - the tool as one of several processes that mpirun, srun or their kin have started. */
#ifndef SSM2D_TOOLS_PROCESSES_H
#define SSM2D_TOOLS_PROCESSES_H

#include "cluster/cluster.h"
#include "command.h"

/* The processes of this command; one, unless the command takes part in more and was started so. */
cluster *processes(void);
/* Whether this process prints: the first does, of several. */
int processes_speak(void);

/* Before the command line is read: joins the others, or refuses a command that works in one process
 * alone when there are several. */
ssm2d_status processes_join(const command *c, ssm2d_error *error);
/* The words of the command line, but for the number of threads, which may differ, in memory that
 * stays; before it is read, as that changes it. */
const char *processes_words(int argc, char **argv);
/* After it, with what came of that: all go on, or none. */
ssm2d_status processes_meet(const ssm2d_context *context, const char *words, ssm2d_status status,
                            ssm2d_error *error);
/* The threads for this process when the command line does not say. */
int processes_threads(long given);
/* After a failure, before it is reported. One that the processes have not agreed on is of this one
 * alone, unless the first ends as well: it is reported here, and the others see this process
 * end. */
void processes_failed(ssm2d_error *error);
/* At the end; does not return when another process is lost, as MPI would wait for it. */
void processes_leave(int code);

#endif
