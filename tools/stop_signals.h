/* stop_signals - signals stop long jobs cleanly, with a checkpoint. */
#ifndef SSM2D_TOOLS_STOP_SIGNALS_H
#define SSM2D_TOOLS_STOP_SIGNALS_H

#include "ssm2d.h"

/* From now on the first SIGINT, SIGTERM, SIGHUP or SIGUSR1 requests a stop; another one, a second
 * or more later, ends the program at once. SIGUSR1 is for jobs of mpirun, which forwards it without
 * killing the processes afterwards. Signals that were ignored at the start stay ignored: SIGHUP
 * under nohup, SIGINT of background jobs. SIGPIPE is ignored, so that a closed pipe fails the write
 * instead. */
void stop_signals_catch(void);
/* Whether a stop was requested; a hook of training, which ignores user. */
int stop_requested(void *user);

/* Reports that a command ended cleanly because a stop was requested, with this line. The program
 * then exits with the code that shells report for a process killed by that signal. */
ssm2d_status stop_signals_end(ssm2d_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The exit code: 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP; `otherwise` if no stop was
 * requested or stop_signals_end was not called. */
int stop_signals_code(int otherwise);

#endif
